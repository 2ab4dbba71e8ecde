import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toDefinition } from '../../../src/agents/definitions/definition'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { findReplayProblem, readAnswer } from '../../../src/agents/replay/read-record'
import { composeRecord } from '../../../src/agents/run/record'
import { outcomes } from '../../../src/shared/errors'
import type { RecordedRun } from '../run/recording'
import { runs } from '../run/runs'
import { worldRuns } from '../run/world-runs'
import { inObject, World } from '../shell/world'
import { LaneWorld, readRun, toDeeds } from './lane-world'
import { busy, call, inTurn, join, type Play, plays, record, say, type Turn } from './plays'

/** Replays a run of the test world with the answers of its model, and compares what both did. */
async function replay(play: Play, loose: string[] = []) {
  const { world, commit, events, ending, record: stored } = await record(play)
  const lane = new LaneWorld({
    record: stored,
    definition: world.define('first'),
    model: world.model,
    moreTools: world.moreTools,
    problem: world.undefinedBecause,
  })
  const result = await inObject((state) => lane.run(state))
  const replayed = readRun(result.record)
  expect(toDeeds(replayed.events, loose)).toEqual(toDeeds(events, loose))
  expect(result.outcome).toBe(ending?.outcome)
  expect(result.answer).toBe(readAnswer(stored))
  if (commit.reply) expect(commit.reply.content).toContain(result.answer)
  expect(result.incomplete).toBeNull()
  const usage = result.usage.map(({ at: _at, durationMs: _ms, ...each }) => each)
  expect(usage).toEqual(commit.usage.map(({ at: _at, durationMs: _ms, ...each }) => each))
  return ending?.outcome
}

describe('P10: a replay with the recorded answers does what the run did', () => {
  test.each(Object.entries(plays))('%s', async (_name, play) => {
    await replay(play)
  })

  test('a tool that throws in the gateway, which promises that none does', async () => {
    await replay({ script: inTurn(call('break', 'look'), say('One failed.')) }, ['audit', 'name'])
  })
})

const turns: Turn[] = [
  call('look'),
  call('look', 'act'),
  call('act', 'act', 'look'),
  call('unknown_tool'),
  say('Done.'),
  say(''),
  { ...say('They came'), finish: 'length' },
  { ...call('look', 'look'), finish: 'length' },
  { failure: { ...busy, mayBeCharged: true } },
  join('How many?', call('look')),
  join('Where?', say('At the pond.')),
]

test('P10: a replay of any run does what the run did', async () => {
  const scripts = fc.array(fc.constantFrom(...turns), { minLength: 1, maxLength: 7 })
  await fc.assert(
    fc.asyncProperty(scripts, async (script) => {
      await replay({ script: inTurn(...script, say('The end.')) })
    }),
    { numRuns: 8 },
  )
})

/** Returns what a model and tools did: journals that were made by hand have no real prompts and prices. */
const toChoices = (events: LoopEvent[]): unknown[] =>
  toDeeds(events, ['charge', 'request', 'input', 'warning', 'hooks', 'audit', 'usage']).map(
    (deed) => toChoice(deed as LoopEvent),
  )

function toChoice(event: LoopEvent): unknown {
  switch (event.type) {
    case 'loaded': {
      const { task, admission, agentName, answer, problem } = event.facts
      return { task, admission, agentName, answer, problem }
    }
    case 'compacted':
      return event.type
    case 'tool_returned': {
      const { callId, text, isError } = event
      return { callId, text, isError }
    }
    case 'tool_parked':
      return event.approval
    case 'model_refused':
      return event.reason
    default:
      return event
  }
}

/** Runs that cannot be replayed, and why. */
const unfinished = new Set(['parked and waiting', 'only woken', 'running a tool'])

/** What an interruption made unknown is known in a lane, which no stop of the machine interrupts. */
const interrupted = new Set(['completed with refused calls', 'crashed in a tool'])

/** Made by hand, with sizes that no prompt has: the lane compacts where its prompt requires it. */
const handmadeSizes = new Set([
  'completed with a compaction',
  'completed with an extract as summary',
])

const isReplayed = (name: string) =>
  !unfinished.has(name) && !interrupted.has(name) && !handmadeSizes.has(name)

async function replayGolden({ events, ending, finishedAt }: RecordedRun) {
  const facts = events.find((event) => event.type === 'loaded')?.facts
  if (!facts) throw new Error('the run was not loaded')
  const { limits, model, problem } = facts
  const base = toDefinition({ name: 'scout' }, 'You are scout.', [])
  const lane = new LaneWorld({
    record: JSON.stringify(composeRecord(events.map(countUsage), ending, finishedAt)),
    definition: {
      ...base,
      limits: {
        ...base.limits,
        iterations: limits.iterations,
        tokens: limits.tokens,
        durationSeconds: limits.durationMs / 1000,
      },
    },
    problem: problem?.message ?? null,
    model: { contextTokens: limits.contextTokens, isOffline: model.isOffline },
    moreTools: ['hub_search', 'hub_create_post', 'memory_update_plan'],
  })
  const result = await inObject((state) => lane.run(state))
  return { lane, result }
}

const toStored = ({ events, ending, finishedAt }: RecordedRun): string =>
  JSON.stringify(composeRecord(events, ending, finishedAt))

/** Lets the model report what the journal says that it was charged for. */
function countUsage(event: LoopEvent): LoopEvent {
  if (event.type !== 'model_answered') return event
  return { ...event, answer: { ...event.answer, usage: event.charge } }
}

describe('P10: a replay of a golden run makes the same choices', () => {
  test.each(Object.entries(runs).filter(([name]) => isReplayed(name)))(
    '%s',
    async (_name, play) => {
      const run = play()
      const { lane, result } = await replayGolden(run)
      expect(toChoices(lane.ended)).toEqual(toChoices(run.events.map(countUsage)))
      expect(result.outcome).toBe(run.ending?.outcome)
    },
  )

  test.each(Object.entries(worldRuns))('%s', async (_name, play) => {
    const run = await play()
    const { definition, tools } = {
      definition: new World(() => say('')).define('first'),
      tools: [],
    }
    const lane = new LaneWorld({
      record: toStored(run),
      definition,
      moreTools: tools,
    })
    const result = await inObject((state) => lane.run(state))
    expect(toChoices(lane.ended)).toEqual(toChoices(run.events))
    expect(result.outcome).toBe(run.ending?.outcome)
  })

  test.each([...unfinished])('%s has not ended, so it is not replayed', (name) => {
    const run = runs[name]?.()
    expect(run && findReplayProblem(toStored(run))).toBeTruthy()
  })

  test('they have every outcome', () => {
    const ends = Object.entries(runs).flatMap(([name, play]) =>
      isReplayed(name) ? [play().ending?.outcome] : [],
    )
    expect([...new Set(ends)].filter(Boolean).sort()).toEqual([...outcomes].sort())
  })
})
