"""
NumPy's functions, by its names and argument orders.

In a traced function they record operations. Called on NumPy arrays alone they compute at once, by the reference
semantics of the operations, and return NumPy arrays. Operands are broadcast and promoted as NumPy 2 does; where NumPy
would compute in float16 (the exponential of an int8) Stepwell takes float32.

A public function is decorated by `traceable`, or by `creation` where it has no operands; it is then found by its name in
the package, and as NumPy's function of that name called on a traced value.
"""
