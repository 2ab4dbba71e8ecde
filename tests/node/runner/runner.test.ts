import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunOrder } from '../../../src/shared/runner-protocol.ts'
import { createStage, isAlive, key, type Stage, token } from './start-runner.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage()
  const folder = stage.programFolder
  stage.start({
    programs: [
      { type: 'claude-code', version: '1.2.3', folder },
      { type: 'codex', version: '2.3.4', folder },
    ],
  })
  await stage.hub.until(() => stage.hub.hellos[0])
})
afterAll(() => stage.close())

const play = async (prompt: string, changes?: Partial<RunOrder>) => {
  const order = stage.order(prompt, changes)
  stage.hub.send({ type: 'start', order })
  const ended = await stage.ended(order)
  const reports = stage.hub.reports.get(`${order.activation_id} 1`) ?? []
  return { ended, reports, kinds: reports.map(({ kind }) => kind) }
}
const limits = (changes: Partial<RunOrder['limits']>) => ({
  limits: { ...stage.order('').limits, ...changes },
})
describe('a turn', () => {
  test('X2: the runner says its slots, labels and programs with their versions', () => {
    expect(stage.hub.hellos[0]).toMatchObject({
      name: 'test',
      labels: ['linux'],
      slots: 2,
      has_sandbox: false,
      programs: [
        { type: 'claude-code', version: '1.2.3' },
        { type: 'codex', version: '2.3.4' },
      ],
      runs: [],
    })
  })

  test('X8: the answer is the last message after the last tool call, without what a retry repeated', async () => {
    const { ended, kinds, reports } = await play('good')
    expect(ended).toMatchObject({
      end: 'end_turn',
      is_success: true,
      answer: 'The printer is on fire.',
    })
    expect(kinds).toEqual(['started', 'text', 'tool', 'tool', 'plan', 'text', 'text', 'ended'])
    expect(reports[2]).toMatchObject({ title: 'mcp__rookery__get_ticket', is_builtin: false })
    expect(stage.mcp.calls).toContain('call get_ticket')
  })

  test('X6: tools that cannot be listed end the run before the program starts', async () => {
    const { ended, kinds } = await play('good', { token: 'another' })
    expect(ended).toMatchObject({ end: 'no_tools', is_success: false })
    expect(kinds).toEqual(['ended'])
  })

  test('X6: a program that did not list the tools itself has no success', async () => {
    const { ended } = await play('toolless')
    expect(ended).toMatchObject({ end: 'no_tools', is_success: false })
  })

  test('X8: failures are named: an error, a refusal, a death, an answer without a model', async () => {
    const [failed, refused] = await Promise.all([play('fails'), play('refuses')])
    const [died, made] = await Promise.all([play('die'), play('modelless')])
    expect(failed.ended).toMatchObject({ end: 'error', is_success: false })
    expect(failed.ended.detail).toContain('fake failure')
    expect(refused.ended).toMatchObject({ end: 'refusal', is_success: false })
    expect(died.ended).toMatchObject({ end: 'lost', is_success: false })
    expect(died.ended.detail).toMatch(/code 3.*the fake program is broken/)
    expect(made.ended).toMatchObject({ end: 'end_turn', is_success: false })
  })

  test('X10: with built-in tools off, only tools of the hub get permission', async () => {
    const { ended } = await play('permissions')
    expect(ended.answer).toBe('yes no no')
  })

  test('X8: an answer counts that the program left itself, and one that broke does not', async () => {
    stage.models.setScript('', { answers: [{ text: 'Look there.', fault: 'comments' }] })
    const left = await play('modelless leaves')
    stage.models.setScript('', { answers: [{ text: 'Look there.', fault: 'cut' }] })
    const broken = await play('modelless breaks')
    stage.models.setScript('', { answers: [{ text: 'This is the fake model.' }] })
    expect(left.ended).toMatchObject({ end: 'end_turn', is_success: true })
    expect(broken.ended).toMatchObject({ end: 'end_turn', is_success: false })
  })

  test('X13: a later run loads the session where it was, and reports nothing twice', async () => {
    const first = await play('good')
    const next = await play('good', { session_id: first.ended.session_id })
    expect(next.reports[0]).toMatchObject({
      is_resumed: true,
      session_id: first.ended.session_id,
    })
    expect(JSON.stringify(next.reports)).not.toContain('what was said before')
    // Another agent does not get it.
    const other = await play('good', { session_id: first.ended.session_id, agent: 'other' })
    expect(other.reports[0]).toMatchObject({ is_resumed: false })
    // Neither does anybody once the hub has deleted it.
    const sessions = [first.ended.session_id ?? '', 'no such session']
    stage.hub.send({ type: 'forget_sessions', session_ids: sessions })
    const late = await play('good', { session_id: first.ended.session_id })
    expect(late.reports[0]).toMatchObject({ is_resumed: false })
  })
})

describe('limits', () => {
  test('X9: a program that ignores its cancellation is killed with all it started', async () => {
    const order = stage.order('hang')
    stage.hub.send({ type: 'start', order })
    const name = `${order.activation_id} 1`
    const text = await stage.hub.until(() =>
      stage.hub.reports.get(name)?.find((report) => report.kind === 'text'),
    )
    const child = Number(text.kind === 'text' && text.text.split(' ')[1])
    expect(isAlive(child)).toBe(true)
    const { activation_id, attempt } = order
    stage.hub.send({ type: 'stop', activation_id, attempt, reason: 'cancelled' })
    const ended = await stage.ended(order)
    expect(ended).toMatchObject({ end: 'cancelled', is_success: false })
    expect(isAlive(child)).toBe(false)
  })

  test('X9: silence, duration, output and model requests each end the run', async () => {
    const silent = play('hang', limits({ silence_ms: 500 }))
    const late = play('slowly', limits({ ends_at: Date.now() + 800 }))
    expect((await silent).ended).toMatchObject({ end: 'silent', is_success: false })
    expect((await late).ended).toMatchObject({ end: 'cancelled' })
    expect((await late).ended.detail).toContain('maximum duration')
    const flood = play('flood', limits({ output_chars: 5_000 }))
    const endless = play('endless', limits({ model_requests: 5 }))
    expect((await flood).ended).toMatchObject({ end: 'output_limit' })
    expect((await endless).ended).toMatchObject({ end: 'max_turn_requests' })
  })

  test('X2: what cannot be taken is refused with the reason', async () => {
    const refuse = async (changes: Partial<RunOrder>) => {
      const before = stage.hub.refusals.length
      stage.hub.send({ type: 'start', order: stage.order('good', changes) })
      return stage.hub.until(() => stage.hub.refusals[before])
    }
    const model = { ...stage.order('').model, protocols: ['openai-chat' as const] }
    expect(await refuse({ program: 'goose' })).toContain('not installed')
    expect(await refuse({ program: 'codex', builtin: 'files' })).toContain('none or shell')
    expect(await refuse({ builtin: 'files' })).toContain('no sandbox')
    expect(await refuse({ model })).toContain('speaks anthropic-messages')
    stage.hub.send({ type: 'drain', is_draining: true })
    expect(await refuse({})).toContain('no further runs')
    stage.hub.send({ type: 'drain', is_draining: false })
    expect((await play('good')).ended.is_success).toBe(true)
  })
})

describe('what the machine holds', () => {
  test('X3: the relay takes its own key, and passes only the paths of models and tools', async () => {
    const { ended } = await play('strangers')
    expect(ended.answer).toBe('401 401 404')
  })

  test('X10: no process, file or log line has the token, nor the key', async () => {
    const order = stage.order('hang')
    stage.hub.send({ type: 'start', order })
    await stage.hub.until(() => stage.hub.reports.get(`${order.activation_id} 1`)?.[1])
    const texts = listProcesses()
      .map((pid) => read(`/proc/${pid}/cmdline`) + read(`/proc/${pid}/environ`))
      .filter((text) => text.includes('ROOKERY_RUN='))
    expect(texts.length).toBeGreaterThan(0)
    const files = readdirSync(join(stage.folder, 'state'), { recursive: true, encoding: 'utf8' })
    const stored = files.map((file) => read(join(stage.folder, 'state', file)))
    const requests = stage.models.requests.map(({ headers }) => headers.authorization)
    const { activation_id, attempt } = order
    stage.hub.send({ type: 'stop', activation_id, attempt, reason: 'cancelled' })
    await stage.ended(order)
    expect(requests).toContain(`Bearer ${token}`)
    for (const secret of [token, key]) {
      expect(texts.filter((text) => text.includes(secret))).toEqual([])
      expect(stored.filter((text) => text.includes(secret))).toEqual([])
      expect(stage.log.join('')).not.toContain(secret)
    }
  })
})

const listProcesses = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name))

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
