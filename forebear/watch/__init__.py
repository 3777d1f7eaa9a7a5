"""Does a law still hold on new rows? Latents of new rows beside those of rows set aside, on plain arrays."""
