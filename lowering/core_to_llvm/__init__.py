"""Level 4 to level 5."""

from .convert import ConvertCoreToLLVMPass, lowered_to_llvm

__all__ = ["ConvertCoreToLLVMPass", "lowered_to_llvm"]
