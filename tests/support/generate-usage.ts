/**
 * A synthetic month of model calls: weekdays, growth, a day without any, one runaway agent.
 * Deterministic by seed. For tests, and for viewing the pages.
 */
export interface GeneratedCall {
  activationId: string
  call: number
  agent: string
  model: string
  task: string
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  costMicrousd: number
  isPriced: boolean
  createdAt: number
}

const DAY_MS = 86_400_000

/** Name, calls per weekday, model. */
export const officeAgents = [
  ['scout', 42, 'anthropic/claude-sonnet-4-5'],
  ['archivist', 30, 'anthropic/claude-sonnet-4-5'],
  ['ops', 24, 'anthropic/claude-haiku-4-5'],
  ['reviewer', 16, 'anthropic/claude-sonnet-4-5'],
  ['dispatch', 14, 'workers-ai/llama-3.3-70b'],
  ['linkcheck', 12, 'workers-ai/llama-3.3-70b'],
  ['wren', 11, 'openai/gpt-5-mini'],
  ['translator', 9, 'openai/gpt-5-mini'],
  ['minutes', 7, 'anthropic/claude-haiku-4-5'],
  ['greeter', 4, 'openai/gpt-5-mini'],
] as const

/** Micro-dollars per token: input, cached, output. Null without a price. */
const prices: Record<string, readonly [number, number, number] | null> = {
  'anthropic/claude-sonnet-4-5': [3, 0.3, 15],
  'anthropic/claude-haiku-4-5': [1, 0.1, 5],
  'openai/gpt-5-mini': [0.25, 0.025, 2],
  'workers-ai/llama-3.3-70b': null,
}

const tasks = ['mention', 'mention', 'mention', 'reply', 'reply', 'exploration', 'scheduled']

/** Returns a seeded random generator (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export interface Month {
  seed: number
  /** End of the month; the last day may be partial. */
  now: number
  days: number
  /** Factor of the usual number of calls. */
  scale?: number
}

/** Returns a day's load: low at weekends, growing from day to day, zero on one day. */
function loadOf(day: number, age: number): number {
  const weekday = (day + 4) % 7
  const isWeekend = weekday === 0 || weekday === 6
  const isDark = age === 11
  return isDark ? 0.04 : (isWeekend ? 0.28 : 1) * 0.985 ** age
}

export function generateUsage({ seed, now, days, scale = 1 }: Month): GeneratedCall[] {
  const random = createRandom(seed)
  const today = Math.floor(now / DAY_MS)
  const calls: GeneratedCall[] = []
  for (let day = today - days + 1; day <= today; day++) {
    const age = today - day
    for (const [agent, usual, model] of officeAgents) {
      const wild = agent === 'linkcheck' && age === 4 ? 7 : agent === 'ops' && age === 6 ? 5 : 1
      const count = Math.round(usual * scale * loadOf(day, age) * wild * (0.75 + random() / 2))
      for (let index = 0; index < count; index++) {
        // People and their agents work from seven to nineteen.
        const createdAt = day * DAY_MS + Math.floor((7 + 12 * random()) * 3_600_000)
        const call = makeCall(random, { agent, model, id: `${day}-${agent}-${index}`, createdAt })
        if (createdAt <= now) calls.push(call)
      }
    }
  }
  return calls
}

function makeCall(
  random: () => number,
  of: { agent: string; model: string; id: string; createdAt: number },
): GeneratedCall {
  const inputTokens = Math.round(3_000 + 22_000 * random() ** 2)
  const cachedTokens = Math.round(inputTokens * 0.6 * random())
  const outputTokens = Math.round(150 + 1_400 * random() ** 2)
  const price = prices[of.model]
  const [perInput, perCached, perOutput] = price ?? [0, 0, 0]
  const cost =
    (inputTokens - cachedTokens) * perInput + cachedTokens * perCached + outputTokens * perOutput
  return {
    activationId: `made-${of.id}`,
    call: 0,
    agent: of.agent,
    model: of.model,
    task: tasks[Math.floor(random() * tasks.length)] ?? 'mention',
    inputTokens,
    cachedTokens,
    outputTokens,
    costMicrousd: Math.round(cost),
    isPriced: price !== null,
    createdAt: of.createdAt,
  }
}

/** Inserts calls by agent name; `?1` is a JSON list of calls. */
export const insertCallsSql = `
  INSERT INTO usage_events (activation_id, call, account_id, model, task, post_id, input_tokens,
    cached_tokens, output_tokens, reasoning_tokens, cost_microusd, is_priced, is_estimated, duration_ms, created_at)
  SELECT u.value ->> 'activationId', u.value ->> 'call', a.id, u.value ->> 'model', u.value ->> 'task',
    NULL, u.value ->> 'inputTokens', u.value ->> 'cachedTokens', u.value ->> 'outputTokens', 0,
    u.value ->> 'costMicrousd', u.value ->> 'isPriced', 0, 4000, u.value ->> 'createdAt'
  FROM json_each(?1) u JOIN accounts a ON a.name = u.value ->> 'agent'`

/** Sets the days of usage to the sums of the events, which an inserted event alone does not change. */
export const fillDaysSql = `
  INSERT OR REPLACE INTO usage_days (scope, scope_id, day, calls, estimated_calls, input_tokens, cached_tokens,
    output_tokens, reasoning_tokens, cost_microusd, unpriced_calls, unpriced_tokens)
  SELECT s.value ->> 0, coalesce(s.value ->> 1, ''), u.created_at / 86400000, count(*), sum(u.is_estimated),
    sum(u.input_tokens), sum(u.cached_tokens), sum(u.output_tokens), sum(u.reasoning_tokens),
    sum(u.cost_microusd), sum(1 - u.is_priced), sum(iif(u.is_priced, 0, u.input_tokens + u.output_tokens))
  FROM usage_events u, json_each(json_array(
    json_array('hub', ''), json_array('agent', u.account_id),
    json_array('provider', substr(u.model, 1, instr(u.model || '/', '/') - 1)),
    json_array('model', u.model), json_array('task', u.task), json_array('community', u.community_id))) s
  GROUP BY 1, 2, 3`

/** Sets existing budget windows to the sums of the events. */
export const fillWindowsSql = `
  UPDATE budget_windows SET (spent_microusd, spent_tokens) = (
    SELECT coalesce(sum(u.cost_microusd), 0), coalesce(sum(u.input_tokens + u.output_tokens), 0)
    FROM usage_events u JOIN budgets b ON b.id = budget_windows.budget_id
    WHERE u.created_at >= budget_windows.starts_at AND u.created_at < budget_windows.ends_at
      AND (b.scope = 'hub' OR (b.scope = 'agent' AND u.account_id = b.scope_id)))`
