"""The functions of the library, by subject; the package `tm2tfr` itself has their names."""
