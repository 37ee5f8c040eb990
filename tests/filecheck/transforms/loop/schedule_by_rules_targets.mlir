// RUN: stepwell-opt %s -p "schedule-by-rules{target=zen3}" | filecheck %s --check-prefix=ZEN3
// RUN: stepwell-opt %s -p "schedule-by-rules{target=sapphire-rapids}" | filecheck %s --check-prefix=WIDE
// RUN: stepwell-opt %s -p 'schedule-by-rules{target="zen5:l2=2M,registers=16"}' | filecheck %s --check-prefix=WIDE
// RUN: not stepwell-opt %s -p 'schedule-by-rules{target="zen5:l2_way=8"}' 2>&1 | filecheck %s --check-prefix=FACT
// RUN: not stepwell-opt %s -p 'schedule-by-rules{target="zen5:l2=fast"}' 2>&1 | filecheck %s --check-prefix=SIZE

// A schedule for a core that is known is the same on every machine.

// FACT: found unknown fact 'l2_way' of a target; did you mean 'l2_ways'
// SIZE: found 'fast' for 'l2' of a target, expected a size from 1K to 931322G, as 512K or 2M; mend it

// ZEN3: loop.for parallel vector "j.lane" %{{.*}} = 0 to 64
// WIDE: loop.for parallel vector "j.lane" %{{.*}} = 0 to 128
func.func private @double(%A: memref<16x1024xf32>, %B: memref<16x1024xf32>) {
  loop.for parallel "i" %i = 0 to 16 {
    loop.for parallel "j" %j = 0 to 1024 {
      %a = loop.load %A[%i, %j] : memref<16x1024xf32>
      %b = arith.addf %a, %a : f32
      loop.store %b, %B[%i, %j] : memref<16x1024xf32>
    }
  }
  func.return
}
