"""Loop programs that the tests of several steps start from; `{n}` is an extent."""

TRIANGLE = """
func.func @f(%A: memref<{n}x{n}xi32>) {
  loop.for parallel "i" %i = 0 to {n} {
    loop.for serial "j" %j = 1 to %i + 1 {
      %a = loop.load %A[%i, %j - 1] : memref<{n}x{n}xi32>
      %b = loop.load %A[%i, %j] : memref<{n}x{n}xi32>
      %t = arith.muli %a, %b : i32
      %s = arith.subi %t, %a : i32
      loop.store %s, %A[%i, %j] : memref<{n}x{n}xi32>
    }
  }
  func.return
}
"""

LINE = """
func.func @f(%A: memref<80xi32>) {
  loop.for serial "i" %i = -3 to {n} step 2 {
    %a = loop.load %A[%i + 3] : memref<80xi32>
    %b = loop.load %A[%i + 4] : memref<80xi32>
    %t = arith.muli %a, %b : i32
    %s = arith.addi %t, %b : i32
    loop.store %s, %A[%i + 5] : memref<80xi32>
  }
  func.return
}
"""

COPY = """
func.func @f(%A: memref<80xi32> {stepwell.noalias}, %B: memref<80xi32> {stepwell.noalias}) {
  loop.for parallel "i" %i = -3 to {n} step 2 {
    %a = loop.load %A[%i + 3] : memref<80xi32>
    loop.store %a, %B[%i + 4] : memref<80xi32>
  }
  func.return
}
"""

MATMUL = """
func.func @f(%A: memref<{n}x9xi32> {stepwell.noalias}, %B: memref<9x{n}xi32> {stepwell.noalias},
             %C: memref<{n}x{n}xi32> {stepwell.noalias}) {
  loop.for parallel "i" %i = 0 to {n} {
    loop.for parallel "j" %j = 0 to {n} {
      loop.for reduction "k" %k = 0 to 9 {
        %a = loop.load %A[%i, %k] : memref<{n}x9xi32>
        %b = loop.load %B[%k, %j] : memref<9x{n}xi32>
        %p = arith.muli %a, %b : i32
        %c = loop.load %C[%i, %j] : memref<{n}x{n}xi32>
        %s = arith.addi %c, %p : i32
        loop.store %s, %C[%i, %j] : memref<{n}x{n}xi32>
      }
    }
  }
  func.return
}
"""

SCRATCH = """
func.func @f(%A: memref<{n}x5xi32> {stepwell.noalias}, %B: memref<{n}x5xi32> {stepwell.noalias}) {
  %T = loop.alloc arena : memref<{n}x5xi32>
  loop.for parallel "i" %i = 0 to {n} {
    loop.for parallel "j" %j = 0 to 5 {
      %a = loop.load %A[%i, %j] : memref<{n}x5xi32>
      loop.store %a, %T[%i, -%j + 4] : memref<{n}x5xi32>
    }
  }
  loop.for parallel "k" %k = 0 to {n} {
    loop.for parallel "l" %l = 0 to 5 {
      %t = loop.load %T[%k, %l] : memref<{n}x5xi32>
      loop.store %t, %B[%k, %l] : memref<{n}x5xi32>
    }
  }
  func.return
}
"""
