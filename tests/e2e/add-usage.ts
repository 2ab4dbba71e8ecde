import {
  fillDaysSql,
  fillWindowsSql,
  generateUsage,
  insertCallsSql,
} from '../support/generate-usage.ts'
import { openDatabaseFile } from '../support/open-database-file.ts'

/** Inserts two months of usage of the hub's agents, for its charts. */
export function addUsage(stateDir: string): void {
  const database = openDatabaseFile(stateDir)
  const calls = generateUsage({ seed: 5, now: Date.now(), days: 60, scale: 0.1 })
  database.prepare(insertCallsSql).run(JSON.stringify(calls))
  database.exec(fillDaysSql)
  database.exec(fillWindowsSql)
  database.close()
}
