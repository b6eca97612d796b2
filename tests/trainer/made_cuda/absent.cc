// Of a library that a plug-in needs and the loader does not find.
int OfAnAbsentLibrary() { return 0; }
