// RUN: stepwell-opt %s -p canonicalize,cse --time-passes 2>&1 >/dev/null | filecheck %s

// CHECK:      pass {{ +}}ms{{ +}}%
// CHECK-NEXT: canonicalize{{ +[0-9.]+ +[0-9.]+}}
// CHECK-NEXT: cse {{ +[0-9.]+ +[0-9.]+}}
// CHECK-NEXT: (verify) {{ +[0-9.]+ +[0-9.]+}}
// CHECK-NEXT: -----
// CHECK-NEXT: total {{ +[0-9.]+}}   100.0

func.func @f() {
  func.return
}
