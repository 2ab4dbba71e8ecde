import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  fillDaysSql,
  fillWindowsSql,
  generateUsage,
  insertCallsSql,
} from '../support/generate-usage.ts'

/** Opens the hub's database in a local state folder. */
function openDatabase(stateDir: string): DatabaseSync {
  const files = readdirSync(join(stateDir, 'data', 'd1'), { recursive: true }).map(String)
  for (const file of files.filter((name) => name.endsWith('.sqlite'))) {
    const database = new DatabaseSync(join(stateDir, 'data', 'd1', file))
    database.exec('PRAGMA busy_timeout = 5000')
    const found = database.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'usage_days'`).get()
    if (found) return database
    database.close()
  }
  throw new Error(`no database of a hub in ${stateDir}`)
}

/** Inserts two months of usage of the hub's agents, for its charts. */
export function addUsage(stateDir: string): void {
  const database = openDatabase(stateDir)
  const calls = generateUsage({ seed: 5, now: Date.now(), days: 60, scale: 0.1 })
  database.prepare(insertCallsSql).run(JSON.stringify(calls))
  database.exec(fillDaysSql)
  database.exec(fillWindowsSql)
  database.close()
}
