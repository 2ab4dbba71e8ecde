import type { ChildProcess } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '../../../runner/log.ts'
import { type FakeHub, startFakeHub } from '../../../runner/matrix/fake-hub.ts'
import { type FakeMcp, startFakeMcp } from '../../../runner/matrix/fake-mcp.ts'
import { Runner, type RunnerOptions } from '../../../runner/serve.ts'
import { root } from '../../../scripts/local-state.mjs'
import type { RunOrder, RunReport } from '../../../src/shared/runner-protocol.ts'
import { type FakeModelServer, startFakeModelServer } from '../../support/fake-model-server.ts'
import {
  endProcess,
  giveToRunner,
  openFolder,
  startRunnerProcess,
} from '../../support/start-runner-process.ts'

export const key = 'the-key-of-this-runner'
export const token = 'the-token-of-this-run'

/** A hub, its tools, a model provider and a folder with the fake program where Claude Code would be. */
export interface Stage {
  hub: FakeHub
  mcp: FakeMcp
  models: FakeModelServer
  folder: string
  programFolder: string
  log: string[]
  start(options?: Partial<RunnerOptions>): Started
  /** Starts a runner as a process, of a user for whom the sandbox holds. Its folder is `state`, too. */
  startProcess(options?: Partial<RunnerOptions>): ChildProcess
  order(prompt: string, changes?: Partial<RunOrder>): RunOrder
  /** Waits for the last report of an attempt. */
  ended(order: RunOrder): Promise<Extract<RunReport, { kind: 'ended' }>>
  close(): Promise<void>
}

interface Started {
  runner: Runner
  done: Promise<void>
}

export async function createStage(): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-runner-'))
  const programFolder = join(folder, 'program')
  const adapter = 'node_modules/@agentclientprotocol/claude-agent-acp/dist'
  mkdirSync(join(programFolder, adapter), { recursive: true })
  copyFileSync(
    join(root, 'tests/node/runner/fake-program.mjs'),
    join(programFolder, adapter, 'index.js'),
  )
  const [hub, mcp, models] = await Promise.all([
    startFakeHub(key),
    startFakeMcp(token),
    startFakeModelServer(),
  ])
  openFolder(folder)
  const log: string[] = []
  const started: Started[] = []
  const processes: ChildProcess[] = []
  const defaults = {
    hub: hub.url,
    key,
    name: 'test',
    labels: ['linux'],
    slots: 2,
    once: false,
    folder: join(folder, 'state'),
    programs: [{ type: 'claude-code' as const, version: '1.2.3', folder: programFolder }],
    hasSandbox: false,
    version: '0.0.0',
    retryMs: 50,
  }
  let count = 0
  return {
    hub,
    mcp,
    models,
    folder,
    programFolder,
    log,
    start(options = {}) {
      const target = { write: (text: string) => log.push(text) }
      const runner = new Runner({ ...defaults, log: createLog(target), ...options })
      const done = runner.run()
      done.catch(() => undefined)
      started.push({ runner, done })
      return { runner, done }
    },
    startProcess(options = {}) {
      const given = { ...defaults, ...options }
      mkdirSync(given.folder, { recursive: true })
      for (const each of [given.folder, programFolder]) giveToRunner(each)
      const child = startRunnerProcess(given)
      child.stderr?.on('data', (text) => log.push(String(text)))
      processes.push(child)
      return child
    },
    order(prompt, changes = {}) {
      count++
      return {
        activation_id: `activation-${count}`,
        attempt: 1,
        agent: 'coder',
        program: 'claude-code',
        system_prompt: 'You fix things.',
        prompt,
        model: {
          name: 'test',
          protocols: ['anthropic-messages'],
          context_tokens: 100_000,
          output_tokens: 4_096,
        },
        limits: {
          // However busy the machine is: tests of a limit set their own.
          ends_at: Date.now() + 600_000,
          silence_ms: 240_000,
          model_requests: 50,
          output_chars: 100_000,
        },
        builtin: 'none',
        workspace: null,
        session_id: null,
        token,
        endpoints: { models: models.url, mcp: mcp.url, git: 'http://127.0.0.1:9/git' },
        ...changes,
      }
    },
    ended: ({ activation_id, attempt }) =>
      hub.until(() => {
        const last = hub.reports.get(`${activation_id} ${attempt}`)?.at(-1)
        return last?.kind === 'ended' && last
      }),
    async close() {
      for (const { runner } of started) await runner.stop()
      for (const each of processes) await endProcess(each)
      mcp.close()
      await models.close()
      await hub.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Whether a process runs; what has ended and waits for its parent does not. */
export const isAlive = (pid: number): boolean => {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
