/** What Vite's module runner of this Worker has evaluated. */
interface Modules {
  getModulesByFile(file: string): Iterable<Module> | undefined
  getModuleById(id: string): Module | undefined
  invalidateModule(module: Module): void
}
interface Module {
  importers: Iterable<string>
}

// An isolate composes its app once, and that app remembers what it read from its database. The database
// of each test file is another one, so each composes the app again.
const { evaluatedModules }: { evaluatedModules: Modules } = Reflect.get(
  globalThis,
  '__vitest_worker__',
)
const entry = new URL('../../src/worker.ts', import.meta.url).pathname
for (const module of evaluatedModules.getModulesByFile(entry) ?? []) {
  for (const id of module.importers) {
    const importer = evaluatedModules.getModuleById(id)
    if (importer) evaluatedModules.invalidateModule(importer)
  }
  evaluatedModules.invalidateModule(module)
}
