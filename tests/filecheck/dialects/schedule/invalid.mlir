// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

schedule.script { schedule.split "f/i" fctor = 4 }
// CHECK: invalid.mlir:3:40: found parameter 'fctor' of step 'split', expected one that it has; did you mean 'factor'?

// -----

schedule.script { schedule.split "f/i" factor = 4 factor = 5 }
// CHECK: invalid.mlir:8:51: found parameter 'factor' twice, expected it once

// -----

schedule.script { schedule.splt "f/i" factor = 4 }
// CHECK: invalid.mlir:13:19: found unknown operation 'schedule.splt', expected one of dialect 'schedule'; did you mean 'schedule.split'

// -----

schedule.script { schedule.split "f/i" factor = "4" }
// CHECK: invalid.mlir:18:19: 'schedule.split': parameter 'factor' of step 'split' is '4', expected a whole number

// -----

schedule.script { schedule.split "f/i" }
// CHECK: invalid.mlir:23:19: 'schedule.split': step 'split' needs the parameter 'factor'

// -----

schedule.script { schedule.reorder "f/i" order = [1, 2] }
// CHECK: invalid.mlir:28:19: 'schedule.reorder': parameter 'order' of step 'reorder' is (1, 2), expected a list of strings

// -----

schedule.script { %c = arith.constant 1 : i32 }
// CHECK: invalid.mlir:33:1: found 'arith.constant' in a script, expected schedule steps only
