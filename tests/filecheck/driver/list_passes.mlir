// RUN: stepwell-opt --list-passes | filecheck %s
// RUN: stepwell-opt --list-passes=all | filecheck %s --check-prefix ALL

// CHECK:      pass {{ +}}in {{ +}}out {{ +}}what it does
// CHECK:      convert-core-to-llvm {{ +}}core {{ +}}llvm {{ +[A-Z].*\.}}
// CHECK:      convert-te-to-loop {{ +}}te {{ +}}loop {{ +[A-Z].*\.}}
// CHECK-NOT:  xDSL  xDSL

// ALL:        convert-te-to-loop {{ +}}te {{ +}}loop
// ALL:        cse {{ +}}xDSL  xDSL
