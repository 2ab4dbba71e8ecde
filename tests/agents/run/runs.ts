import { auditOf, charge } from './events'
import { type RecordedRun, Recording } from './recording'

const planCall = (callId: string, plan: object) => ({
  callId,
  name: 'memory_update_plan',
  arguments: JSON.stringify(plan),
})
const hooks = (point: string, ms: number, outcome: 'ok' | 'denied' | 'timed_out' = 'ok') => [
  { hook: 'guard', point, ms, outcome },
]
const two = [{ callId: 'a' }, { callId: 'b' }]

/** Runs that end on their own. */
const completed: Record<string, () => RecordedRun> = {
  'completed without tools': () => new Recording().begin().answer().commit(),
  'completed with parallel calls': () =>
    new Recording()
      .begin()
      .answer({ text: 'Let me look.', reasoning: 'I should search.', calls: two })
      .tool('b', { ms: 40 })
      .tool('a', { ms: 70, text: 'Error: nothing found.', isError: true })
      .answer(
        {},
        {
          input: { messages: 5, chars: 2_000, tokens: 500, prefixShare: 0.98 },
          charge: { cachedTokens: 90 },
        },
      )
      .commit(),
  'completed after retries': () =>
    new Recording()
      .begin()
      .fail({ detail: 'Rate limit of key 1: HARBOUR.' })
      .sleep()
      .fail({ code: 'NETWORK', message: 'The connection broke.' }, charge({ isEstimated: true }))
      .sleep()
      .answer()
      .commit(),
  'completed with hooks': () =>
    new Recording()
      .begin()
      .answer({ calls: two }, { hooks: hooks('beforeModelCall', 12) })
      .tool('a', { hooks: hooks('beforeToolCall', 5), arguments: '{"query":"changed"}' })
      .tool('b', {
        hooks: hooks('beforeToolCall', 4, 'denied'),
        audit: null,
        isError: true,
        text: 'Error: denied by the hook guard.',
        ms: 0,
      })
      .answer({}, { hooks: hooks('afterModelCall', 30, 'timed_out') })
      .commit(),
  'completed with a compaction': () =>
    new Recording()
      .begin({ ...limited(1_000), historyFrom: 0, promptTokens: 700 })
      .answer({ calls: two }, { charge: { inputTokens: 980, doubt: 'The usage is doubtful.' } })
      .tool('a')
      .tool('b')
      .compact()
      .answer({}, { warning: 'The prompt fills 90 % of the context window.' })
      .commit(),
  'completed with an extract as summary': () =>
    new Recording()
      .begin({ ...limited(1_000), historyFrom: 0, promptTokens: 700 })
      .answer({ calls: two }, { charge: { inputTokens: 980 } })
      .tool('a')
      .tool('b')
      .compact({ charge: null, problem: 'The offline model writes no summaries.' })
      .answer()
      .commit(),
  'completed with a plan': () =>
    new Recording()
      .begin()
      .answer({
        calls: [
          planCall('p', {
            goal: 'Compare two papers',
            steps: [{ title: 'Find them', status: 'running' }, { title: 'Compare them' }],
          }),
          { callId: 'a' },
        ],
      })
      .tool('p', { name: 'memory_update_plan', text: 'Saved.' })
      .tool('a')
      .answer({ calls: [planCall('q', { steps: [{ title: 'Find them' }, { title: 'Write' }] })] })
      .tool('q', { name: 'memory_update_plan', text: 'Saved.' })
      .answer()
      .commit(),
  'completed after a truncated answer': () =>
    new Recording()
      .begin()
      .answer({ text: 'The herons', finish: 'length', calls: [{ callId: 'a' }] })
      .answer({ text: ' came in March.' })
      .commit(),
  'completed with refused calls': () =>
    new Recording()
      .begin()
      .answer({ calls: [...Array(18).keys()].map((id) => ({ callId: `c${id % 17}` })) })
      .tool('c1')
      .tool('c0', {
        isError: true,
        text: 'Error: not granted.',
        audit: auditOf('c0', { decision: 'denied' }),
      })
      .tool('c3')
      .tool('c2', { audit: auditOf('c2', { decision: 'rate_limited' }), isError: true })
      .crash(['c4', 'c5'])
      .tool('c6')
      .stop('time_ran_out')
      .commit(),
  'exploration without a post': () =>
    new Recording()
      .begin({ task: 'exploration', answer: null, notes: ['Two skills were left out.'] })
      .answer({ text: 'PASS' })
      .commit(),
  'completed by the offline model': () =>
    new Recording()
      .begin({
        isPriced: false,
        model: { id: 'offline/extractive', isOffline: true, substitutedFor: 'anthropic/claude' },
      })
      .answer({}, { charge: { isPriced: false, microusd: 0 } })
      .commit(),
  'long texts': () =>
    new Recording()
      .begin({ prompt: [{ role: 'user', text: 'owl '.repeat(500) }], historyFrom: 0 })
      .answer({ text: 'word '.repeat(1_800), calls: [{ callId: 'a', arguments: ' '.repeat(900) }] })
      .tool('a', { text: 'found '.repeat(900) })
      .answer({ reasoning: 'hm '.repeat(300) })
      .commit(),
}

function limited(contextTokens: number) {
  return { limits: { iterations: 6, tokens: 20_000, durationMs: 60_000, contextTokens } }
}

const limit = (over: object) => ({ limits: { ...limited(100_000).limits, ...over } })

/** Runs that a limit, a person or a failure ends. */
const stopped: Record<string, () => RecordedRun> = {
  'max iterations': () =>
    new Recording()
      .begin(limit({ iterations: 1 }))
      .answer({ calls: two })
      .tool('a')
      .tool('b')
      .commit(),
  'max tokens': () =>
    new Recording()
      .begin(limit({ tokens: 700 }))
      .answer({ calls: two }, { charge: { inputTokens: 650 } })
      .tool('a')
      .tool('b')
      .commit(),
  'max duration in tools': () =>
    new Recording().begin().answer({ calls: two }).tool('b').stop('time_ran_out').commit(),
  'max duration in a model call': () =>
    new Recording()
      .begin()
      .stop('time_ran_out', charge({ isEstimated: true }))
      .commit(),
  'context limit': () =>
    new Recording().begin(limited(10)).compact({ replaced: 0, tokens: 10, charge: null }).commit(),
  'budget exhausted at load': () =>
    new Recording().begin({ admission: 'budget_exhausted' }).commit(),
  'budget exhausted later': () =>
    new Recording()
      .begin()
      .answer({ text: 'So far.', calls: two })
      .tool('a')
      .tool('b')
      .refuse('budget_exhausted')
      .commit(),
  'cancelled in tools': () =>
    new Recording().begin().answer({ calls: two }).stop('cancel_requested').commit(),
  'cancelled in a model call': () =>
    new Recording()
      .begin()
      .stop('cancel_requested', charge({ isEstimated: true }))
      .commit(),
  'cancelled with a plan': () =>
    new Recording()
      .begin()
      .answer({ calls: [planCall('p', { goal: 'Count', steps: [{ title: 'Find' }] })] })
      .tool('p', { name: 'memory_update_plan', text: 'Saved.' })
      .stop('cancel_requested')
      .commit(),
  'content filtered': () =>
    new Recording().begin().answer({ text: '', finish: 'content-filter' }).commit(),
  'failed at the provider': () =>
    new Recording()
      .begin()
      .fail({ code: 'PROVIDER_AUTH', isRetryable: false, detail: 'Bad key in HARBOUR.' })
      .commit(),
  'failed before the first call': () =>
    new Recording()
      .begin({ problem: { code: 'INVALID_DEFINITION', message: 'The definition is invalid.' } })
      .commit(),
}

/** Runs that wait, crash or go on. */
const interrupted: Record<string, () => RecordedRun> = {
  'parked and approved': () =>
    new Recording()
      .begin()
      .answer({ calls: two })
      .parkTool('b')
      .tool('a')
      .park()
      .resume([{ callId: 'b' }])
      .tool('b', { name: 'hub_create_post' })
      .answer()
      .commit(),
  'parked and denied': () =>
    new Recording()
      .begin()
      .answer({ calls: two })
      .parkTool('a')
      .parkTool('b')
      .park()
      .resume([
        { callId: 'a', decision: 'denied', note: 'Not now.' },
        { callId: 'b', decision: 'expired' },
      ])
      .answer()
      .commit(),
  'parked and waiting': () =>
    new Recording().begin().answer({ calls: two }).parkTool('a').tool('b').park(),
  'parked and cancelled': () =>
    new Recording()
      .begin()
      .answer({ calls: two })
      .parkTool('a')
      .tool('b')
      .park()
      .resume([], { isCancelled: true })
      .commit(),
  'parked, then out of budget': () =>
    new Recording()
      .begin()
      .answer({ calls: [{ callId: 'a' }] })
      .parkTool('a')
      .park()
      .resume([{ callId: 'a' }], { admission: 'budget_exhausted' })
      .commit(),
  'crashed in a model call': () =>
    new Recording()
      .begin()
      .crash([], charge({ isEstimated: true }))
      .answer()
      .commit(),
  'crashed in a tool': () =>
    new Recording().begin().answer({ calls: two }).tool('a').crash(['b']).answer().commit(),
  'crashed in a tool that runs again': () =>
    new Recording().begin().answer({ calls: two }).crash().tool('b').tool('a').answer().commit(),
  'crashed at the commit': () =>
    new Recording().begin().answer().failCommit().sleep().crash().commit(),
  'waited to start': () => {
    const run = new Recording().wake()
    const effectId = run.only('load')
    const retryAt = run.at + 500
    run.apply({
      type: 'load_waited',
      at: run.pass(10),
      effectId,
      retryAt,
      reason: 'money_reserved',
    })
    run.sleep()
    const failure = { code: 'HUB_UNREACHABLE', message: 'An error.', isHopeless: false } as const
    run.apply({ type: 'load_failed', at: run.pass(9), effectId: run.only('load'), ...failure })
    return run.sleep().load().answer().commit()
  },
  'only woken': () => new Recording().wake(),
  'running a tool': () => new Recording().begin().answer({ calls: two }).tool('b'),
  'not committed yet': () => new Recording().begin().answer(),
}

/** Every run by its name: each journal is the same on every machine. */
export const runs = { ...completed, ...stopped, ...interrupted }
