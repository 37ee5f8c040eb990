; The thread pool of runtime/thread_pool.py, which says how it works and fills in what begins with a dollar sign.

; state, where a worker has come in last, body, data, -, semaphore, -
%region = type { i32, i32, ptr, ptr, [104 x i8], [64 x i8], [64 x i8] }

@regions = internal global [$regions x %region] zeroinitializer, align 128
@announced = internal global i32 0, align 128  ; counts the regions that were opened
@caller = internal global i32 -1, align 128    ; the processor on which the last one was
@left = internal global i64 0, align 128       ; when a worker has left its processor last, in nanoseconds
@stay = internal global i64 $least_stay, align 128  ; how long after that one may leave again
@sleepers = internal global i32 0, align 128   ; workers that sleep, without those for which the alarm is posted
@alarm = internal global [64 x i8] zeroinitializer, align 128
@$workers = global i32 0, align 128  ; threads of the pool
@refused = internal global i32 0      ; whether the system has refused one more
@masked = internal constant [16 x i64] [i64 $masked, $more_masked]  ; signals that threads of the pool leave to others
@key = internal global $key_type 0          ; of a thread's number in a region, more by one than what it says it is

declare i32 @llvm.umin.i32(i32, i32)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.x86.sse2.pause()
declare void @llvm.aarch64.isb(i32)
declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific($key_type)
declare i32 @pthread_setspecific($key_type, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sched_yield()

define i32 @$max_threads() {
  ret i32 $default_threads
}

; The number of a thread in a region: 0 of the caller, and of a worker the same one in all regions.
define i32 @$thread_number() {
  %key = load $key_type, ptr @key
  %mark = call ptr @pthread_getspecific($key_type %key)
  %wide = ptrtoint ptr %mark to i64
  %more = trunc i64 %wide to i32
  %is_outside = icmp eq i32 %more, 0
  %one_less = sub i32 %more, 1
  %number = select i1 %is_outside, i32 0, i32 %one_less
  ret i32 %number
}

; Makes the pool new: at the start, and in a forked process, which has one thread.
define void @$reset(i32 %first) {
entry:
  %is_first = icmp ne i32 %first, 0
  br i1 %is_first, label %make_key, label %start
make_key:
  call i32 @pthread_key_create(ptr @key, ptr null)
  br label %start
start:
  store i32 0, ptr @announced
  store i32 0, ptr @sleepers
  store i32 0, ptr @$workers
  store i32 0, ptr @refused
  call void @new_semaphore(ptr @alarm)
  br label %each
each:
  %k = phi i32 [ 0, %start ], [ %next, %each ]
  %region = getelementptr [$regions x %region], ptr @regions, i32 0, i32 %k
  store i32 0, ptr %region
  %semaphore = getelementptr %region, ptr %region, i32 0, i32 5
  call void @new_semaphore(ptr %semaphore)
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, $regions
  br i1 %more, label %each, label %done
done:
  %key = load $key_type, ptr @key
  call i32 @pthread_setspecific($key_type %key, ptr null)
  ret void
}

; Runs the body on this thread and on up to `threads - 1` others. Inside of a region, on this thread alone.
define void @$parallel(ptr %body, ptr %data, i32 %threads, i32 %flags) {
entry:
  %is_default = icmp eq i32 %threads, 0
  %asked = select i1 %is_default, i32 $default_threads, i32 %threads
  %workers = sub i32 %asked, 1
  %has_workers = icmp sgt i32 %workers, 0
  br i1 %has_workers, label %not_one, label %alone
not_one:
  %key = load $key_type, ptr @key
  %mark = call ptr @pthread_getspecific($key_type %key)
  %is_inside = icmp ne ptr %mark, null
  br i1 %is_inside, label %alone, label %take
take:
  %region = call ptr @take_region()
  %is_full = icmp eq ptr %region, null
  br i1 %is_full, label %alone, label %open
alone:
  call void %body(ptr %data)
  ret void
open:
  call void @hire(i32 %workers)
  call i32 @pthread_setspecific($key_type %key, ptr inttoptr (i64 1 to ptr))
  %body_place = getelementptr %region, ptr %region, i32 0, i32 2
  %data_place = getelementptr %region, ptr %region, i32 0, i32 3
  store ptr %body, ptr %body_place
  store ptr %data, ptr %data_place
  %here = call i32 @processor()
  store atomic i32 %here, ptr @caller monotonic, align 4
  %opened = or i32 %workers, $taken
  store atomic i32 %opened, ptr %region release, align 4
  atomicrmw add ptr @announced, i32 1 seq_cst
  call void @wake(i32 %workers)
  call void %body(ptr %data)
  %before = atomicrmw and ptr %region, i32 $close acq_rel
  %inside = and i32 %before, $all_inside
  %somebody = icmp ne i32 %inside, 0
  br i1 %somebody, label %others, label %close
others:
  call void @wait_for(ptr %region)
  br label %close
close:
  store atomic i32 0, ptr %region release, align 4
  call i32 @pthread_setspecific($key_type %key, ptr null)
  ret void
}

; A region that nobody has, now the caller's; null when there is none.
define internal ptr @take_region() {
entry:
  br label %each
each:
  %k = phi i32 [ 0, %entry ], [ %next, %again ]
  %region = getelementptr [$regions x %region], ptr @regions, i32 0, i32 %k
  %state = load atomic i32, ptr %region monotonic, align 4
  %is_free = icmp eq i32 %state, 0
  br i1 %is_free, label %try, label %again
try:
  %pair = cmpxchg ptr %region, i32 0, i32 $taken acquire monotonic
  %taken = extractvalue { i32, i1 } %pair, 1
  br i1 %taken, label %mine, label %again
mine:
  ret ptr %region
again:
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, $regions
  br i1 %more, label %each, label %none
none:
  ret ptr null
}

; Starts threads until there are `wanted`, or the system refuses one.
define internal void @hire(i32 %wanted) {
entry:
  %thread = alloca ptr
  %own_mask = alloca [16 x i64], align 8
  br label %each
each:
  %now = load atomic i32, ptr @$workers monotonic, align 4
  %refused = load atomic i32, ptr @refused monotonic, align 4
  %is_few = icmp slt i32 %now, %wanted
  %may = icmp eq i32 %refused, 0
  %hires = and i1 %is_few, %may
  br i1 %hires, label %count, label %done
count:
  %more = add i32 %now, 1
  %pair = cmpxchg ptr @$workers, i32 %now, i32 %more monotonic monotonic
  %counted = extractvalue { i32, i1 } %pair, 1
  br i1 %counted, label %start, label %each
start:
  %as_mark = add i32 %more, 1
  %wide = zext i32 %as_mark to i64
  %mark = inttoptr i64 %wide to ptr
  call i32 @pthread_sigmask(i32 $set_mask, ptr @masked, ptr %own_mask)  ; a new thread has its creator's
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr %mark)
  call i32 @pthread_sigmask(i32 $set_mask, ptr %own_mask, ptr null)
  %is_failed = icmp ne i32 %failed, 0
  br i1 %is_failed, label %give_up, label %started
started:
  %it = load ptr, ptr %thread
  call i32 @pthread_detach(ptr %it)
  br label %each
give_up:
  atomicrmw sub ptr @$workers, i32 1 monotonic
  store atomic i32 1, ptr @refused monotonic, align 4
  br label %done
done:
  ret void
}

; Wakes up to `wanted` sleepers, and no more than those can wake in their turn.
define internal void @wake(i32 %wanted) {
entry:
  %few = call i32 @llvm.umin.i32(i32 %wanted, i32 $wakes)
  %is_none = icmp eq i32 %few, 0
  br i1 %is_none, label %done, label %read
read:
  %sleeping = load atomic i32, ptr @sleepers seq_cst, align 4
  %nobody = icmp eq i32 %sleeping, 0
  br i1 %nobody, label %done, label %take
take:
  %woken = call i32 @llvm.umin.i32(i32 %sleeping, i32 %few)
  %rest = sub i32 %sleeping, %woken
  %pair = cmpxchg ptr @sleepers, i32 %sleeping, i32 %rest seq_cst monotonic
  %taken = extractvalue { i32, i1 } %pair, 1
  br i1 %taken, label %each, label %read
each:
  %left = phi i32 [ %woken, %take ], [ %fewer, %each ]
  call void @post(ptr @alarm)
  %fewer = sub i32 %left, 1
  %more = icmp ne i32 %fewer, 0
  br i1 %more, label %each, label %done
done:
  ret void
}

; Until nobody is inside of a region that has no places.
define internal void @wait_for(ptr %region) {
entry:
  %start = call i64 @now()
  br label %look
look:
  %state = load atomic i32, ptr %region acquire, align 4
  %inside = and i32 %state, $all_inside
  %is_empty = icmp eq i32 %inside, 0
  br i1 %is_empty, label %done, label %pause
pause:
  %worker_place = getelementptr %region, ptr %region, i32 0, i32 1
  %long = call i1 @pause_since(i64 %start, ptr %worker_place, i1 false)
  br i1 %long, label %sleep, label %look
sleep:
  %before = atomicrmw or ptr %region, i32 $asleep acq_rel
  %last_inside = and i32 %before, $all_inside
  %is_late = icmp eq i32 %last_inside, 0
  br i1 %is_late, label %done, label %wait
wait:
  %semaphore = getelementptr %region, ptr %region, i32 0, i32 5
  call void @wait(ptr %semaphore)
  br label %done
done:
  ret void
}

; A thread of the pool, for as long as the process lives.
define internal ptr @worker(ptr %mark) {
entry:
  %key = load $key_type, ptr @key
  call i32 @pthread_setspecific($key_type %key, ptr %mark)
  br label %look
look:
  %seen = load atomic i32, ptr @announced acquire, align 4
  %helped = call i1 @help()
  br i1 %helped, label %look, label %idle
idle:
  %start = call i64 @now()
  br label %listen
listen:
  %now = load atomic i32, ptr @announced monotonic, align 4
  %is_new = icmp ne i32 %now, %seen
  br i1 %is_new, label %look, label %pause
pause:
  %long = call i1 @pause_since(i64 %start, ptr @caller, i1 true)
  br i1 %long, label %sleep, label %listen
sleep:
  call void @sleep_since(i32 %seen)
  br label %look
}

; Takes part in a region that has a place; false where there is none.
define internal i1 @help() {
entry:
  br label %each
each:
  %k = phi i32 [ 0, %entry ], [ %k, %enter ], [ %next, %other ]
  %region = getelementptr [$regions x %region], ptr @regions, i32 0, i32 %k
  %state = load atomic i32, ptr %region monotonic, align 4
  %places = and i32 %state, $all_places
  %is_open = icmp ne i32 %places, 0
  br i1 %is_open, label %enter, label %other
enter:
  %changed = add i32 %state, $enter
  %pair = cmpxchg ptr %region, i32 %state, i32 %changed acquire monotonic
  %is_in = extractvalue { i32, i1 } %pair, 1
  br i1 %is_in, label %work, label %each
work:
  %here = call i32 @processor()
  %worker_place = getelementptr %region, ptr %region, i32 0, i32 1
  store atomic i32 %here, ptr %worker_place monotonic, align 4
  %others = sub i32 %places, 1
  call void @wake(i32 %others)
  %body_place = getelementptr %region, ptr %region, i32 0, i32 2
  %data_place = getelementptr %region, ptr %region, i32 0, i32 3
  %body = load ptr, ptr %body_place
  %data = load ptr, ptr %data_place
  call void %body(ptr %data)
  %before = atomicrmw sub ptr %region, i32 $one_inside acq_rel
  %last_or_sleeping = and i32 %before, $inside_or_asleep
  %is_awaited = icmp eq i32 %last_or_sleeping, $last_and_asleep
  br i1 %is_awaited, label %wake, label %done
wake:
  %semaphore = getelementptr %region, ptr %region, i32 0, i32 5
  call void @post(ptr %semaphore)
  br label %done
done:
  ret i1 true
other:
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, $regions
  br i1 %more, label %each, label %none
none:
  ret i1 false
}

; Until a caller wakes this worker; not at all where a region was announced after `seen`.
define internal void @sleep_since(i32 %seen) {
entry:
  atomicrmw add ptr @sleepers, i32 1 seq_cst
  %now = load atomic i32, ptr @announced seq_cst, align 4
  %is_new = icmp ne i32 %now, %seen
  br i1 %is_new, label %stay, label %wait
stay:
  %sleeping = load atomic i32, ptr @sleepers seq_cst, align 4
  %is_called = icmp eq i32 %sleeping, 0
  br i1 %is_called, label %wait, label %leave
leave:
  %rest = sub i32 %sleeping, 1
  %pair = cmpxchg ptr @sleepers, i32 %sleeping, i32 %rest seq_cst monotonic
  %left = extractvalue { i32, i1 } %pair, 1
  br i1 %left, label %done, label %stay
wait:
  call void @wait(ptr @alarm)
  br label %done
done:
  ret void
}

; Nanoseconds.
define internal i64 @now() {
  %time = alloca [2 x i64]
  call i32 @clock_gettime(i32 $clock, ptr %time)
  %rest_place = getelementptr i64, ptr %time, i32 1
  %seconds = load i64, ptr %time
  %rest = load i64, ptr %rest_place
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}

; One turn of a loop that waits for who runs on a processor; whether it has waited for long enough. Where that is this processor,
; the other one may have it, and who waits may go to another processor.
define internal i1 @pause_since(i64 %start, ptr %processor, i1 %may_leave) {
  $relax
  %now = call i64 @now()
  %there = load atomic i32, ptr %processor monotonic, align 4
  %here = call i32 @processor()
  %is_same = icmp eq i32 %here, %there
  %is_known = icmp sge i32 %here, 0
  %is_here = and i1 %is_same, %is_known
  br i1 %is_here, label %together, label %done
together:
  %before = load atomic i64, ptr @left monotonic, align 8
  %since = sub i64 %now, %before
  %stay = load atomic i64, ptr @stay monotonic, align 8
  %is_long_ago = icmp sgt i64 %since, %stay  ; not where another thread has left after this one looked at the clock
  %leaves = and i1 %may_leave, %is_long_ago
  br i1 %leaves, label %leave, label %yield
leave:
  store atomic i64 %now, ptr @left monotonic, align 8
  %twice = shl i64 %stay, 1
  %longer = call i64 @llvm.umin.i64(i64 %twice, i64 $most_stay)
  %quiet = shl i64 %stay, 2
  %was_of_use = icmp ugt i64 %since, %quiet
  %next = select i1 %was_of_use, i64 $least_stay, i64 %longer
  store atomic i64 %next, ptr @stay monotonic, align 8
  call void @leave(i32 %here)
  br label %done
yield:
  call i32 @sched_yield()
  br label %done
done:
  %passed = sub i64 %now, %start
  %is_long = icmp ugt i64 %passed, $spin
  ret i1 %is_long
}
