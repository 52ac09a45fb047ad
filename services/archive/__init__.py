"""Where full texts are kept: adapters of the Archive port, and the files of an article's document."""
