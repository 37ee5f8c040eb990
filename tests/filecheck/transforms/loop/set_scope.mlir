// RUN: stepwell-opt %s -p 'loop-set-scope{buffer=f/T scope=stack}' | filecheck %s --check-prefix CHECK
// RUN: not stepwell-opt %s -p 'loop-set-scope{buffer=f/T scope=register}' 2>&1 | filecheck %s --check-prefix SHARED
// RUN: not stepwell-opt %s -p 'loop-set-scope{buffer=f/D scope=stack}' 2>&1 | filecheck %s --check-prefix DYNAMIC
// RUN: not stepwell-opt %s -p 'loop-set-scope{buffer=f/L scope=stack}' 2>&1 | filecheck %s --check-prefix LARGE
// RUN: not stepwell-opt %s -p 'loop-set-scope{buffer=f/A scope=stack}' 2>&1 | filecheck %s --check-prefix ARGUMENT
// RUN: not stepwell-opt %s -p 'loop-set-scope{buffer=f/T scope=disk}' 2>&1 | filecheck %s --check-prefix UNKNOWN

// CHECK-LABEL: func.func private @f
// CHECK-NEXT:   %T = loop.alloc stack
// SHARED: error: {{.*}}set_scope("f/T", scope="register") is refused: the threads of loop 'i' share '%T'; stage it inside of that loop, or choose 'stack' or 'arena'
// DYNAMIC: error: {{.*}}set_scope("f/D", scope="stack") is refused: the size of '%D' is not constant; choose 'thread' or 'arena', or give it a static shape
// LARGE: error: {{.*}}set_scope("f/L", scope="stack") is refused: '%L' has 400000 bytes, expected at most 262144 for 'stack'; stage a smaller region, or choose scope 'thread' or 'arena'
// ARGUMENT: error: {{.*}}set_scope("f/A", scope="stack") is refused: '%A' is not a scratch buffer of this function, so it lives where its maker put it; stage it first
// UNKNOWN: error: {{.*}}set_scope("f/T", scope="disk") is refused: scope is 'disk', expected one of register, stack, thread, arena
func.func private @f(%A: memref<64xf32>, %n: index, %v: f32) {
  %T = loop.alloc arena : memref<64xf32>
  %D = loop.alloc arena(%n) : memref<?xf32>
  %L = loop.alloc arena : memref<100000xf32>
  loop.for parallel threads "i" %i = 0 to 8 {
    loop.store %v, %T[%i] : memref<64xf32>
    loop.store %v, %D[%i] : memref<?xf32>
    loop.store %v, %L[%i] : memref<100000xf32>
  }
  func.return
}
