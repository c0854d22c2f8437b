"""The parameters of training: their kinds and defaults, checked before the extension sees them."""
