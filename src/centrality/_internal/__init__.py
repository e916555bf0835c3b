"""What every room uses: checks, input, arrays, files, processes, devices, text."""
