import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  ModelProtocol,
  ProgramType,
  RunOrder,
  RunReport,
} from '../../src/shared/runner-protocol.ts'
import { type FakeAnswer, startFakeModelServer } from '../../tests/support/fake-model-server.ts'
import {
  endProcess,
  giveToRunner,
  startRunnerProcess,
} from '../../tests/support/start-runner-process.ts'
import { profiles } from '../profiles/profiles.ts'
import type { InstalledProgram } from '../programs.ts'
import { killGroup, toMarker } from '../run/processes.ts'
import type { Case } from './cases.ts'
import { startFakeHub } from './fake-hub.ts'
import { startFakeMcp } from './fake-mcp.ts'

/** What one case showed. */
export interface Played {
  end: string
  isSuccess: boolean
  answer: string
  detail: string | null
  requests: number
  toolCalls: number
  /** Processes that were left running. */
  left: number
  /** Places where the token was found: arguments, environment, files, the log. */
  leaks: string[]
  seconds: number
}

const key = 'the-key-of-the-matrix'
/** Ends only what hangs: a program may need a minute to start on a busy machine. */
const clockMs = 600_000
/** For cases that may end by silence. */
const silenceMs = 45_000
const requestsMax = 12

/** How each program names the hub's tool to the model. */
const toolCalls: Record<ProgramType, NonNullable<FakeAnswer['calls']>[number]> = {
  'claude-code': { name: 'mcp__rookery__get_ticket', arguments: { id: '7' } },
  codex: { name: 'get_ticket', namespace: 'mcp__rookery', arguments: { id: '7' } },
  opencode: { name: 'rookery_get_ticket', arguments: { id: '7' } },
  goose: { name: 'rookery__get_ticket', arguments: { id: '7' } },
  aider: { name: 'none', arguments: {} },
}

/** Names that programs know, because they treat models of their own catalogues differently. */
const modelNames: Record<ModelProtocol, string> = {
  'anthropic-messages': 'claude-sonnet-5-5',
  'openai-chat': 'gpt-6-sol',
  'openai-responses': 'gpt-6-sol',
}

/** Plays one case with the real program, the real runner, and everything else faked. */
export async function playCase(program: InstalledProgram, each: Case): Promise<Played> {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-matrix-'))
  // Found in no other case that is played at the same time.
  const token = `token-${randomBytes(12).toString('hex')}`
  const answers = each.answers({ text: 'Let me see.', calls: [toolCalls[program.type]] })
  const models = await startFakeModelServer({ answers, pick: each.isByTurn ? 'turn' : 'request' })
  const mcp = await startFakeMcp(token)
  const hub = await startFakeHub(key)
  if (each.breaksTools) mcp.breakAfter = 3
  giveToRunner(folder)
  let log = ''
  const startedAt = Date.now()
  const runner = startRunnerProcess({
    hub: hub.url,
    key,
    name: 'matrix',
    labels: [],
    slots: 1,
    folder,
    once: true,
    programs: [program],
    hasSandbox: true,
    version: '0',
  })
  runner.stderr?.on('data', (text) => {
    log += text
  })
  const done = once(runner, 'close')
  const leaks = watchProcesses(token)
  try {
    await hub.until(() => hub.hellos[0])
    const order = toOrder(program.type, {
      token,
      models: models.url,
      mcp: mcp.url,
      silenceMsMax: each.ends.includes('silent') ? silenceMs : clockMs,
    })
    hub.send({ type: 'start', order })
    await done
    const left = await killGroup(undefined, toMarker(join(folder, 'runs', 'case-1')))
    const ended = findEnd(hub.reports.get('case 1') ?? hub.refusals)
    return {
      end: ended.end,
      isSuccess: ended.is_success,
      answer: ended.answer,
      detail: ended.detail,
      requests: models.requests.length,
      toolCalls: mcp.calls.filter((call) => call.startsWith('call ')).length,
      left,
      leaks: [
        ...leaks.stop(),
        ...(await findInFiles(folder, token)),
        ...(log.includes(token) ? ['log'] : []),
      ],
      seconds: (Date.now() - startedAt) / 1000,
    }
  } finally {
    leaks.stop()
    await endProcess(runner)
    mcp.close()
    await models.close()
    await hub.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const toOrder = (
  program: ProgramType,
  {
    token,
    models,
    mcp,
    silenceMsMax,
  }: Record<'token' | 'models' | 'mcp', string> & { silenceMsMax: number },
): RunOrder => {
  const protocols = profiles[program].protocols.slice(0, 1)
  return {
    activation_id: 'case',
    attempt: 1,
    agent: 'coder',
    program,
    system_prompt: 'You answer questions about tickets.',
    prompt: 'What does ticket 7 say?',
    model: {
      name: modelNames[protocols[0] ?? 'openai-chat'],
      protocols,
      context_tokens: 200_000,
      output_tokens: 8_000,
    },
    limits: {
      ends_at: Date.now() + clockMs,
      silence_ms: silenceMsMax,
      model_requests: requestsMax,
      output_chars: 500_000,
    },
    builtin: 'none',
    workspace: null,
    session_id: null,
    token,
    endpoints: { models, mcp, git: 'http://127.0.0.1:9/git' },
  }
}

function findEnd(reports: RunReport[] | string[]): Extract<RunReport, { kind: 'ended' }> {
  const last = reports.at(-1)
  if (typeof last === 'object' && last.kind === 'ended') return last
  throw new Error(`The run did not end: ${JSON.stringify(last)}`)
}

/** Looks for the token in arguments and environments of all processes, again and again. */
function watchProcesses(token: string) {
  const found = new Set<string>()
  const timer = setInterval(() => {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    for (const path of pids.flatMap((pid) => [`${pid}/cmdline`, `${pid}/environ`])) {
      if (read(`/proc/${path}`).includes(token)) found.add(path)
    }
  }, 250)
  return {
    stop(): string[] {
      clearInterval(timer)
      return [...found]
    },
  }
}

/** In a process of its own: a program's folder takes a busy machine a minute, and the fakes of the other cases answer meanwhile. */
const findInFiles = (folder: string, token: string): Promise<string[]> =>
  new Promise((resolve, reject) => {
    execFile('grep', ['-rlaF', '--', token, folder], (error, found) => {
      // 1: no file has it
      if (error && error.code !== 1) reject(error)
      else resolve(found.split('\n').filter((file) => file !== ''))
    })
  })

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
