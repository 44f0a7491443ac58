"""HTML pages: the style sheet, the frame of a page, and the escaping of untrusted text. They load nothing."""
