int OfAnAbsentLibrary();
extern "C" int GyreCudaPlugin() { return OfAnAbsentLibrary(); }
