import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunOrder, RunReport } from '../../src/shared/runner-protocol.ts'
import type { Log } from '../log.ts'
import type { RunLimits } from '../run/limits.ts'
import { killGroup, toMarker } from '../run/processes.ts'
import { Journal } from './journal.ts'

export type AttemptName = Pick<RunOrder, 'activation_id' | 'attempt'>

/** An attempt that runs here, or whose reports the hub does not have yet. */
export interface Held extends AttemptName {
  agent: string
  folder: string
  journal: Journal
  /** Null when it does not run. */
  running: { limits: RunLimits; done: Promise<void>; startedAt: number } | null
  /** The hub no longer wants its reports. */
  isForgotten: boolean
}

export const toKey = ({ activation_id, attempt }: AttemptName): string =>
  `${activation_id} ${attempt}`

/** Creates the folder of a new attempt. */
export function createHeldRun(root: string, order: RunOrder): Held {
  const { activation_id, attempt, agent } = order
  const name = `${activation_id.replaceAll(/[^a-zA-Z0-9-]/g, '_')}-${attempt}`
  const folder = join(root, 'runs', name)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, 'run.json'), JSON.stringify({ activation_id, attempt, agent }))
  const journal = new Journal(folder)
  return { activation_id, attempt, agent, folder, journal, running: null, isForgotten: false }
}

/** Kills what an earlier process of this folder has left running, and ends its attempts as lost. */
export async function recoverRuns(root: string, log: Log): Promise<Held[]> {
  const runs = join(root, 'runs')
  mkdirSync(runs, { recursive: true, mode: 0o700 })
  const found: Held[] = []
  for (const name of readdirSync(runs)) {
    const folder = join(runs, name)
    const killed = await killGroup(undefined, toMarker(folder))
    if (killed > 0) log.warn(`Killed ${killed} processes of an earlier start.`)
    const facts = readFacts(folder)
    if (facts) {
      const journal = new Journal(folder)
      journal.append(toLost('The runner was restarted.'))
      found.push({ ...facts, folder, journal, running: null, isForgotten: false })
    } else rmSync(folder, { recursive: true, force: true })
  }
  return found
}

export const toLost = (detail: string): RunReport => ({
  kind: 'ended',
  end: 'lost',
  detail,
  is_success: false,
  answer: '',
  session_id: null,
  changes: null,
})

function readFacts(folder: string): (AttemptName & { agent: string }) | null {
  try {
    return JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8'))
  } catch {
    return null
  }
}
