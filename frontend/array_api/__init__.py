"""
The Python array API standard (https://data-apis.org/array-api), version 2024.12, on compiled functions.

`stepwell.array_api` has the standard's functions, with its names and signatures. Called on the values of a traced function
they are recorded in it, so that a program written against the standard is compiled as a whole; `x.__array_namespace__()` of
a traced value is this namespace. Outside of traced functions they take and give `Array`s: each function is compiled for
the shapes and dtypes of its arguments when it is first called with them, and is found again then.
"""
