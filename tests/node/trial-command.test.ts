import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Trial } from '../../client/api.ts'
import { toJunit } from '../../client/command/junit.ts'
import { runCommand, startCommand } from './run-command.ts'

type TrialCase = Trial['cases'][number]

const folder = mkdtempSync(join(tmpdir(), 'rookery-trial-'))
const agent = join(folder, 'scout')
const junit = join(folder, 'trial.xml')

/** What the hub answers when a trial is started, and each time that it is read; the last answer stays. */
let start: { status: number; body: object }
let reads: Trial[]
let seen: { path: string; body: unknown }[]
let server: Server
let url: string

const caseOf = (fields: Partial<TrialCase> = {}): TrialCase => ({
  id: 'case-1',
  activation_id: 'run-1',
  replay_id: null,
  state: 'done',
  reason: null,
  is_visible: true,
  question: 'When do we launch?',
  note: '',
  checks: [],
  results: null,
  baseline: null,
  candidate: null,
  judgements: [],
  verdict: 'same',
  by: 'checks',
  verdicts: { checks: 'same', judge: null, people: null },
  ...fields,
})

const both = <Value>(value: Value) => ({ baseline: value, candidate: value })

const trialOf = (cases: TrialCase[], fields: Partial<Trial> = {}): Trial => {
  const count = (verdict: TrialCase['verdict']) =>
    cases.filter((each) => each.state === 'done' && each.verdict === verdict).length
  return {
    id: 'trial-1',
    set: { id: 'set-1', name: 'launch' },
    agent: { id: 'a1', name: 'scout', kind: 'agent', display_name: null },
    status: 'done',
    requested_by: { id: 'mira', name: 'mira', kind: 'human', display_name: null },
    repeats: 1,
    judge: null,
    created_at: '2026-03-01T10:00:00.000Z',
    finished_at: null,
    promise: { cases: cases.length, cost_max_microusd: 900, budget: 'replay' },
    better: count('better'),
    worse: count('worse'),
    same: count('same'),
    cannot_tell: count('cannot_tell'),
    waiting: count(null),
    open: 0,
    skipped: cases.filter(({ state }) => state === 'skipped').length,
    interval: null,
    noise: 0,
    claim: 'same',
    reason: 'No case differs.',
    passed: both({ samples: 0, of: 0, all_samples: 0, cases: 0 }),
    cost_microusd: 120,
    reused: 0,
    cost_month_microusd: null,
    duration_ms: both({ p50: 0, p95: 0 }),
    tool_errors: both(0),
    agreement: null,
    cases,
    ...fields,
  }
}

function answer(path: string): { status: number; body: object } {
  if (path === 'GET /agents/scout/sets') return { status: 200, body: { sets } }
  if (path.endsWith('/cancel')) return { status: 200, body: { trial: { id: 'trial-1' } } }
  if (path.startsWith('POST ')) return start
  const [first, ...rest] = reads
  if (rest.length > 0) reads = rest
  return { status: 200, body: { trial: first } }
}

const sets = [{ id: 'set-1', agent: 'scout', name: 'launch', case_count: 2, created_at: '' }]

beforeAll(async () => {
  mkdirSync(agent)
  writeFileSync(join(agent, 'config.yaml'), 'name: scout\n')
  writeFileSync(join(agent, 'system-prompt.md'), 'You are scout.')
  server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      const path = `${request.method} ${request.url?.replace('/api/v1', '')}`
      seen.push({ path, body: text === '' ? null : JSON.parse(text) })
      const { status, body } = answer(path)
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve))
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  start = { status: 202, body: { trial: { id: 'trial-1', status: 'queued' } } }
  reads = [trialOf([caseOf()])]
  seen = []
})

const env = () => ({ ROOKERY_URL: url, ROOKERY_KEY: 'rookery_test', ROOKERY_CONFIG: folder })
const args = (...more: string[]) => ['trial', '--set', 'set-1', '--definition', agent, ...more]
const rookery = (...more: string[]) => runCommand(args(...more), env())

test('P6: a trial of a folder is started on the set, followed to its end and printed with its cases', async () => {
  reads = [
    trialOf([caseOf({ state: 'running', verdict: null, by: null })], {
      status: 'running',
      open: 1,
    }),
    trialOf([caseOf()]),
  ]
  const { code, answer: printed } = await rookery('--repeats', '3')
  expect(seen.map(({ path }) => path)).toEqual([
    'POST /sets/set-1/trials',
    'GET /trials/trial-1',
    'GET /trials/trial-1',
  ])
  const files = { 'config.yaml': 'name: scout\n', 'system-prompt.md': 'You are scout.' }
  expect(seen[0]?.body).toEqual({ files, repeats: 3 })
  expect(printed()).toMatchObject({
    same: 1,
    worse: 0,
    link: `${url}/trials/trial-1`,
    cases: [{ question: 'When do we launch?', verdict: 'same', by: 'checks' }],
  })
  expect(code).toBe(0)
})

test('P5: a set is found by its agent and its name, and one that is not there names those that are', async () => {
  const named = ['trial', '--definition', agent, '--set']
  expect((await runCommand([...named, '@scout/launch'], env())).code).toBe(0)
  expect(seen.map(({ path }) => path)).toContain('POST /sets/set-1/trials')
  const { code, stderr } = await runCommand([...named, 'scout/lunch'], env())
  expect(JSON.parse(stderr)).toMatchObject({ error: expect.stringContaining('lunch') })
  expect(stderr).toContain('launch')
  expect(code).toBe(2)
})

test('P6: the exit code is 1 when more cases are worse than allowed, and 2 when one could not run', async () => {
  const worse = caseOf({ verdict: 'worse' })
  const skipped = caseOf({ state: 'skipped', verdict: null, by: null, reason: 'No record.' })
  reads = [trialOf([worse, worse, caseOf({ verdict: 'better' })])]
  const codeOf = async (...more: string[]) => (await rookery(...more)).code
  expect(await codeOf()).toBe(1)
  expect(await codeOf('--worse-max', '1')).toBe(1)
  expect(await codeOf('--worse-max', '2')).toBe(0)
  reads = [trialOf([caseOf(), skipped])]
  expect(await codeOf()).toBe(2)
  reads = [trialOf([worse, skipped])]
  expect(await codeOf()).toBe(1)
  reads = [trialOf([caseOf()], { status: 'cancelled' })]
  expect(await codeOf()).toBe(2)
  // nobody has said that it is worse
  reads = [trialOf([caseOf({ verdict: null, by: null }), caseOf({ verdict: 'cannot_tell' })])]
  expect(await codeOf()).toBe(0)
})

test('P6: a trial that the hub refuses is 2 and says why; a wrong command line is 2, a wrong key 4', async () => {
  const details = [{ path: 'config.yaml:3:brain.model', message: 'Unknown model' }]
  start = {
    status: 422,
    body: { success: false, error: 'Not valid.', code: 'INVALID_DEFINITION', hint: null, details },
  }
  const refused = await rookery()
  expect(JSON.parse(refused.stderr)).toMatchObject({ error: 'Not valid.', details })
  expect(refused.code).toBe(2)
  start = { status: 401, body: { success: false, error: 'No key.', code: 'UNAUTHORIZED' } }
  expect((await rookery()).code).toBe(4)
  for (const wrong of [['trial'], args('--repeats', '0'), args('--worse-max', 'many')]) {
    seen = []
    expect((await runCommand(wrong, env())).code, wrong.join(' ')).toBe(2)
    expect(seen).toEqual([])
  }
})

test('P8: a trial that is interrupted is cancelled', async () => {
  reads = [trialOf([caseOf({ state: 'running' })], { status: 'running', open: 1 })]
  const { ended, interrupt } = startCommand(args(), env())
  await expect.poll(() => seen.some(({ path }) => path.startsWith('GET /trials'))).toBe(true)
  interrupt()
  expect((await ended).code).toBe(130)
  expect(seen.at(-1)?.path).toBe('POST /trials/trial-1/cancel')
})

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '',
  isArray: (name) => name === 'testcase',
  parseAttributeValue: false,
})

test('P6: the report is the XML of JUnit, with a test for each case, whatever its words are', async () => {
  const words = '</failure><b a="1">&amp; \u0000\u001b[31m \ud800 ]]> "x"\ntwo'
  const results = (detail: string) => ({
    observed: [[]],
    baseline: [[{ has_passed: true, detail: '' }]],
    candidate: [[{ has_passed: true, detail: '' }], [{ has_passed: false, detail }]],
  })
  const ran = { answer: '', steps: 1, tokens: 1, cost_microusd: 1, incomplete: null }
  const cases = [
    caseOf({ candidate: { ...ran, duration_ms: 1_500 } }),
    caseOf({ question: words, verdict: 'worse', results: results(words) }),
    caseOf({ state: 'skipped', verdict: null, by: null, reason: 'No record.' }),
    caseOf({ verdict: null, by: null }),
  ]
  reads = [trialOf(cases)]
  expect((await rookery('--junit', junit)).code).toBe(1)
  const xml = readFileSync(junit, 'utf8')
  expect(XMLValidator.validate(xml)).toBe(true)
  const { testsuites } = parser.parse(xml)
  const { testcase, ...suite } = testsuites.testsuite
  expect(suite).toEqual({
    name: 'scout/launch',
    tests: '4',
    failures: '1',
    errors: '0',
    skipped: '2',
    time: '1.500',
    timestamp: '2026-03-01T10:00:00',
  })
  const [same, worse, skipped, waiting] = testcase
  expect(same).toEqual({
    name: '1. When do we launch?',
    classname: 'scout/launch',
    time: '1.500',
  })
  expect(worse.name).toBe('2. </failure><b a="1">&amp; [31m \ufffd ]]> "x" two')
  expect(worse.failure).toMatchObject({ message: 'The draft is worse, by checks.', type: 'worse' })
  expect(worse.failure['#text']).toContain('Run 2: </failure><b a="1">&amp;')
  expect(skipped.skipped.message).toBe('No record.')
  expect(waiting.skipped.message).toContain('people')
  // what an XML parser must refuse, and this one does not
  expect(xml).not.toMatch(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u)
})

test('P6: a report of no case is one, too', () => {
  const xml = toJunit({ name: 'scout/none', startedAt: '2026-03-01T10:00:00.000Z', cases: [] })
  expect(XMLValidator.validate(xml)).toBe(true)
  expect(parser.parse(xml).testsuites.testsuite.tests).toBe('0')
})
