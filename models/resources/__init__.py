"""What the API shows: one shape for each kind of thing, made from the stored documents.

A stored document has what the app needs to work; a resource has what the people and programs need that use the app.
"""
