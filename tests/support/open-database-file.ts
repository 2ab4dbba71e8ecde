import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Opens the file of the database of a hub that runs on this machine, past the hub. @throws when there is none */
export function openDatabaseFile(stateDir: string, options = { readOnly: false }): DatabaseSync {
  const folder = join(stateDir, 'data', 'd1')
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.sqlite')) continue
    const file = new DatabaseSync(join(folder, name), { ...options, timeout: 5_000 })
    const table = file.prepare("SELECT 1 FROM sqlite_master WHERE name = 'activations'").get()
    if (table !== undefined) return file
    file.close()
  }
  throw new Error(`There is no database of a hub in ${stateDir}.`)
}
