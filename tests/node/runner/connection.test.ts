import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runnerCloseCodes } from '../../../src/shared/runner-protocol.ts'
import { endProcess } from '../../support/start-runner-process.ts'
import { createStage, isAlive, type Stage } from './start-runner.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage()
})
afterAll(() => stage.close())

const reportsOf = (order: { activation_id: string }) =>
  stage.hub.reports.get(`${order.activation_id} 1`) ?? []

/** What the scripted program does slowly: 30 tool calls, each a report. */
const stepsOf = (order: { activation_id: string }) =>
  reportsOf(order).flatMap((report) => (report.kind === 'tool' ? [report.title] : []))
/** Lets the scripted program wait after a step. Returns what lets it go on. */
function holdAt(step: number): () => void {
  const adapter = 'node_modules/@agentclientprotocol/claude-agent-acp/dist'
  const path = join(stage.programFolder, adapter, `hold-${step}`)
  writeFileSync(path, '')
  return () => rmSync(path)
}
const allSteps = Array.from({ length: 30 }, (_, index) => `step ${index + 1}`)

test('X2: reports survive cut connections and a hub that stores nothing, none lost and none twice', async () => {
  const { runner } = stage.start()
  await stage.hub.until(() => stage.hub.hellos[0])
  const order = stage.order('slowly')
  const [goOn, end] = [holdAt(10), holdAt(30)]
  stage.hub.send({ type: 'start', order })
  await stage.hub.until(() => reportsOf(order).length > 4)
  stage.hub.cut()
  await stage.hub.until(() => stage.hub.hellos[1])
  stage.hub.isStoring = false
  goOn()
  await stage.hub.until(() => stage.hub.dropped > 0)
  stage.hub.isStoring = true
  stage.hub.cut()
  await stage.hub.until(() => stage.hub.hellos[2])
  end()
  const ended = await stage.ended(order)
  expect(ended).toMatchObject({ end: 'end_turn', is_success: true, answer: 'Done slowly.' })
  expect(stepsOf(order)).toEqual(allSteps)
  const { activation_id, attempt } = order
  expect(stage.hub.hellos.at(-1)?.runs).toMatchObject([{ activation_id, attempt, is_ended: false }])
  // Delivered to the end: the folder of the attempt is gone.
  await stage.hub.until(() => readdirSync(join(stage.folder, 'state/runs')).length === 0)
  await runner.stop()
})

test('X2: after an order that arrives twice, and an attempt that the hub forgets, one program runs', async () => {
  const { runner } = stage.start()
  await stage.hub.until(() => stage.hub.isConnected() && stage.hub.hellos.length)
  const order = stage.order('slowly')
  const before = stage.models.requests.length
  const end = holdAt(30)
  await stage.hub.until(() => {
    stage.hub.send({ type: 'start', order })
    stage.hub.send({ type: 'start', order })
    return reportsOf(order).length > 0
  })
  stage.hub.forget = [{ activation_id: order.activation_id, attempt: 1 }]
  stage.hub.cut()
  await stage.hub.until(
    () => !existsSync(join(stage.folder, `state/runs/${order.activation_id}-1`)),
  )
  stage.hub.forget = []
  end()
  expect(reportsOf(order).some(({ kind }) => kind === 'ended')).toBe(false)
  expect(stage.models.requests.length).toBe(before + 1)
  await runner.stop()
})

test('X9: after kill -9 of the runner the next start kills its programs and ends its runs', async () => {
  const start = () => stage.startProcess({ name: 'killed', folder: join(stage.folder, 'killed') })
  const hellos = stage.hub.hellos.length
  const first = start()
  await stage.hub.until(() => stage.hub.hellos[hellos])
  const order = stage.order('hang')
  stage.hub.send({ type: 'start', order })
  const text = await stage.hub.until(() => reportsOf(order).find(({ kind }) => kind === 'text'))
  const orphan = Number(text.kind === 'text' && text.text.split(' ')[1])
  await endProcess(first, 'SIGKILL')
  expect(isAlive(orphan)).toBe(true)
  const second = start()
  const ended = await stage.ended(order)
  expect(ended).toMatchObject({ end: 'lost', is_success: false })
  expect(reportsOf(order).map(({ kind }) => kind)).toEqual(['started', 'text', 'ended'])
  expect(isAlive(orphan)).toBe(false)
  // Its session is still there.
  const started = reportsOf(order)[0]
  const session = started?.kind === 'started' ? started.session_id : null
  const next = stage.order('good', { session_id: session })
  stage.hub.send({ type: 'start', order: next })
  await stage.ended(next)
  expect(reportsOf(next)[0]).toMatchObject({ is_resumed: true })
  await endProcess(second)
})

test('X2: a runner that is stopped reports its runs as lost; with once it ends after the first', async () => {
  const { runner, done } = stage.start({ name: 'stopped' })
  const count = stage.hub.hellos.length
  await stage.hub.until(() => stage.hub.hellos[count])
  const order = stage.order('hang')
  stage.hub.send({ type: 'start', order })
  await stage.hub.until(() => reportsOf(order).length > 0)
  await runner.stop()
  await done
  expect(await stage.ended(order)).toMatchObject({ end: 'lost', detail: 'The runner was stopped.' })

  const once = stage.start({ once: true })
  await stage.hub.until(() => stage.hub.hellos[count + 1])
  const last = stage.order('good')
  stage.hub.send({ type: 'start', order: last })
  await once.done
  expect(await stage.ended(last)).toMatchObject({ is_success: true })
})

test('X2: a refused key, a revoked key and another process of its name end the runner', async () => {
  await expect(stage.start({ key: 'wrong' }).done).rejects.toThrow('does not accept the key (401)')
  for (const code of [runnerCloseCodes.accessEnded, runnerCloseCodes.replaced]) {
    const count = stage.hub.hellos.length
    const { done } = stage.start()
    await stage.hub.until(() => stage.hub.hellos[count])
    stage.hub.end(code)
    await expect(done).rejects.toThrow(/revoked|Another process/)
  }
})
