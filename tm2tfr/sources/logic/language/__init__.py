"""The languages of formulas (``.tl``) and of programs (``.srasp``): from text to syntax trees, and from these to nodes."""
