import { describe, expect, test } from 'vitest'
import { RunningTasks } from '../../../src/agents/agent-shell'

const isQuiet = (work: RunningTasks) =>
  Promise.race([work.waitUntilIdle().then(() => true), scheduler.wait(1).then(() => false)])

describe('the running tasks of an agent (L34, L36)', () => {
  test('L34: a dropped task is aborted, and its end is not awaited', async () => {
    const work = new RunningTasks()
    const hanging = work.begin(1)
    const quiet = work.waitUntilIdle()
    work.abortOthers([{ id: 2 }])
    expect(hanging.aborted).toBe(true)
    const commit = work.begin(2)
    expect(commit.aborted).toBe(false)
    expect(await isQuiet(work)).toBe(false)
    work.end(2)
    work.resolveIfIdle()
    await quiet
  })

  test('it is idle when the last effect has ended without a successor', async () => {
    const work = new RunningTasks()
    await work.waitUntilIdle()
    work.begin(1)
    work.begin(2)
    work.end(1)
    work.resolveIfIdle()
    expect(await isQuiet(work)).toBe(false)
    work.end(2)
    work.begin(3)
    work.resolveIfIdle()
    expect(await isQuiet(work)).toBe(false)
    work.end(3)
    work.resolveIfIdle()
    expect(await isQuiet(work)).toBe(true)
  })

  test('a wanted effect continues when others end', () => {
    const work = new RunningTasks()
    const signal = work.begin(1)
    work.begin(2)
    work.end(2)
    work.abortOthers([{ id: 1 }])
    expect(signal.aborted).toBe(false)
    expect(work.has(1)).toBe(true)
  })

  test('L36: waiting callers get an error when nothing can be written any more', async () => {
    const work = new RunningTasks()
    work.begin(1)
    const quiet = work.waitUntilIdle()
    work.rejectWaiting(new Error('the disk is full'))
    await expect(quiet).rejects.toThrow('the disk is full')
    expect(() => work.rejectWaiting(new Error('again'))).toThrow('again')
  })
})
