import type { ModelUsage } from '../../../src/agents/loop/message'
import { agentId } from '../shell/fake-hub'
import { approveAll, callOf, inObject, live, type Script, World } from '../shell/world'
import { readRun } from './lane-world'

export interface Play {
  script(world: World): Script
  setUp?(world: World): void
  people?(world: World): void
  /** The agent has answered in the thread before. */
  remembers?: boolean
}

const usage = (inputTokens: number): ModelUsage => ({
  inputTokens,
  cachedTokens: 10,
  outputTokens: 20,
  reasoningTokens: 5,
})

export const say = (text: string, inputTokens = 400) => ({ text, usage: usage(inputTokens) })
export const call = (...names: string[]) => ({
  calls: names.map((name, index) => callOf(`${name}-${index}`, name, `{"n":${index}}`)),
  usage: usage(400),
})

export type Turn = ReturnType<Script> | ((world: World) => ReturnType<Script>)

/** Answers in turn; the last one again. */
export const inTurn =
  (...turns: Turn[]) =>
  (world: World): Script => {
    let index = 0
    return () => {
      const turn = turns[Math.min(index++, turns.length - 1)] ?? say('Done.')
      return typeof turn === 'function' ? turn(world) : turn
    }
  }

/** What people do while the model answers. */
export const join =
  (text: string, answer: ReturnType<Script>): Turn =>
  (world) => {
    world.hub.say(text)
    world.shell?.wake(agentId, { maySteer: true })
    return answer
  }

const cancel = (world: World, answer: ReturnType<Script>): ReturnType<Script> => {
  const id = world.shell?.readState().activationId
  setTimeout(() => id && world.shell?.cancel(id), 5)
  return answer
}

const outOfTime = (world: World, answer: ReturnType<Script>): ReturnType<Script> => {
  const { activationId } = world.shell?.readState() ?? {}
  if (activationId) world.endTime()
  return answer
}

export const busy = {
  code: 'PROVIDER_BUSY',
  message: 'Too many requests.',
  isRetryable: true,
  retryAfterMs: 1,
  mayBeCharged: false,
} as const

const long = 'heron,'.repeat(3_000)

export const plays: Record<string, Play> = {
  'an answer without tools': { script: () => () => say('In March.') },
  'tools in parallel': {
    script: inTurn({ ...call('look', 'look', 'peek'), text: 'Let me see.' }, say('In March.')),
    setUp: (world) => world.moreTools.push('peek'),
  },
  'the same call again': {
    script: inTurn(call('look'), call('look'), call('look'), say('In March.')),
  },
  'a call that was approved': { script: inTurn(call('look', 'act'), say('Posted.')) },
  'a call that was denied': {
    script: inTurn(call('act'), say('Not posted.')),
    people: ({ hub }) => {
      for (const { activationId, callId } of hub.listOpen())
        hub.decide(activationId, callId, { decision: 'denied', note: 'Not now.' })
    },
  },
  'two waits, one of which expired': {
    script: inTurn(call('act', 'look', 'act'), call('act'), say('Done.')),
    people: ({ hub }) => {
      hub.listOpen().forEach(({ activationId, callId }, index) => {
        hub.decide(activationId, callId, index === 0 ? { decision: 'expired' } : {})
      })
    },
  },
  'an empty answer': { script: inTurn(say(' '), say('In March.')) },
  'two empty answers': { script: () => () => say('') },
  'a truncated answer': {
    script: inTurn({ ...say('The herons'), finish: 'length' }, say(' came in March.')),
  },
  'truncated calls': {
    script: inTurn({ ...call('look'), finish: 'length' }, say('In March.')),
  },
  'more calls than run': {
    script: inTurn(call(...Array.from({ length: 18 }, () => 'look')), say('In March.')),
  },
  'a filtered answer': { script: () => () => ({ ...say(''), finish: 'content-filter' }) },
  'a provider that fails': { script: () => () => ({ fails: 'No such model.' }) },
  'too many steps': { script: () => () => call('look') },
  'too many tokens': {
    script: () => () => call('look'),
    setUp: (world) => {
      world.tokensMax = 2_000
    },
  },
  'a compaction': {
    script: inTurn(
      { ...call('long'), usage: usage(3_000) },
      { ...call('long'), usage: usage(7_900) },
      say('They spoke of herons.'),
      say('In March.'),
    ),
    setUp: (world) => {
      world.moreTools.push('long')
      world.model = { contextTokens: 9_000 }
    },
  },
  'a full context': {
    script: () => () => ({ text: long, usage: usage(8_800), calls: [callOf('x', 'look')] }),
    setUp: (world) => {
      world.model = { contextTokens: 9_000 }
    },
  },
  'a comment that joins at a tool': {
    script: inTurn(join('How many?', call('look')), say('In March, two of them.')),
  },
  'comments that join an answer': {
    script: inTurn(
      join('How many?', say('In March.')),
      join('Are you sure?', say('Two of them.')),
      say('Yes.'),
    ),
  },
  'a comment at a tool, and one at the answer': {
    script: inTurn(
      join('How many?', call('look')),
      join('Where?', say('Two of them.')),
      say('At the pond.'),
    ),
  },
  retries: {
    script: inTurn({ failure: busy }, { failure: { ...busy, mayBeCharged: true } }, say('March.')),
  },
  'retries that are used up': { script: () => () => ({ failure: busy }) },
  'a prompt that the provider finds too long': {
    script: inTurn(
      call('look'),
      { failure: { ...busy, isRetryable: false, isTooLong: true, refusesPrompt: true } },
      say('They spoke.'),
      say('In March.'),
    ),
  },
  'an outage': {
    script: inTurn(
      { failure: { ...busy, outage: { provider: 'Fake', address: 'http://f', setting: 'F' } } },
      {
        failure: {
          ...busy,
          isRetryable: false,
          outage: { provider: 'Fake', address: 'http://f', setting: 'F' },
        },
      },
      say('In March.'),
    ),
  },
  'a run that was cancelled in a model call': {
    script: inTurn(call('look'), (world) => cancel(world, 'hang')),
  },
  'a run that was cancelled in tools': {
    script: inTurn((world) => cancel(world, call('look', 'hub_hang'))),
    setUp: (world) => world.moreTools.push('hub_hang'),
  },
  'a run out of time': {
    script: inTurn(call('look'), (world) => outOfTime(world, 'hang')),
  },
  'a budget that is used up later': {
    script: inTurn((world) => {
      world.hub.refusal = { kind: 'refused', reason: 'budget_exhausted' }
      return { ...call('look'), text: 'So far.' }
    }),
  },
  'a budget that is used up before': {
    script: () => () => say('never'),
    setUp: (world) => {
      world.hub.admission = 'budget_exhausted'
    },
  },
  'a run of a paused agent': {
    script: inTurn((world) => {
      world.hub.refusal = { kind: 'refused', reason: 'paused' }
      return call('look')
    }),
  },
  'a definition that is invalid': {
    script: () => () => say('never'),
    setUp: (world) => {
      world.undefinedBecause = 'No config.yaml.'
    },
  },
}

/** Plays a run in the test world of the shell, and returns what the hub stored of it. */
export async function record(play: Play) {
  const world = new World((request, id) => script(request, id))
  let script = play.script(world)
  play.setUp?.(world)
  await inObject(async (state) => {
    if (play.remembers) {
      script = () => say('There are herons at the pond.')
      world.hub.ask('@scout are there herons?')
      await live(world, state)
      script = play.script(world)
    }
    world.hub.ask('@scout when did the herons come?')
    await live(world, state, play.people ?? approveAll)
  })
  const commit = world.hub.commits.at(play.remembers ? 1 : 0)
  if (!commit) throw new Error('the run did not commit')
  const { events, ending } = readRun(commit.trace)
  return { world, commit, events, ending, record: commit.trace }
}
