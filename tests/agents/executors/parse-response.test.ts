import { expect, it } from 'vitest'
import type { ExecutorType } from '../../../src/agents/executors/executor'
import { getExecutor } from '../../../src/agents/executors/executors'

const parse = (type: ExecutorType, output: string) => getExecutor(type).parseResponse(output)
const lines = (...events: object[]) => events.map((event) => JSON.stringify(event)).join('\n')

const claudeResult = {
  ...{ type: 'result', subtype: 'success', is_error: false, num_turns: 2, session_id: 's1' },
  result: 'Fixed in src/a.ts.\n',
  total_cost_usd: 0.0123,
  usage: {
    ...{ input_tokens: 10, cache_creation_input_tokens: 200, cache_read_input_tokens: 3000 },
    output_tokens: 45,
  },
}
const claudeReply = {
  kind: 'reply',
  text: 'Fixed in src/a.ts.',
  usage: { inputTokens: 3210, outputTokens: 45, costMicrousd: 12_300 },
}

it('L46: Claude Code: the last result of the stream is the answer', () => {
  const stream = lines(
    { type: 'system', subtype: 'init', session_id: 's1', tools: ['Bash'], model: 'sonnet' },
    { type: 'assistant', message: { content: [{ type: 'text', text: 'Let me look.' }] } },
    claudeResult,
  )
  expect(parse('claude-code', `npm warn something\n${stream}\n`)).toEqual(claudeReply)
  expect(parse('claude-code', JSON.stringify(claudeResult, null, 2))).toEqual(claudeReply)
})

it('L46: Claude Code: an error, a limit and a stream cut short are failures', () => {
  const failed = { ...claudeResult, is_error: true, result: 'Invalid API key' }
  expect(parse('claude-code', lines(failed))).toEqual({
    kind: 'failed',
    message: 'Invalid API key',
  })
  const limited = { type: 'result', subtype: 'error_max_turns', is_error: false }
  expect(parse('claude-code', lines(limited))).toEqual({
    kind: 'failed',
    message: 'Claude Code ended with error_max_turns.',
  })
  expect(parse('claude-code', lines({ type: 'system', subtype: 'init' })).kind).toBe('failed')
  expect(parse('claude-code', '').kind).toBe('failed')
})

const gooseOutput = (status: string) =>
  JSON.stringify(
    {
      messages: [
        { role: 'user', created: 1, content: [{ type: 'text', text: 'fix it' }] },
        {
          role: 'assistant',
          created: 2,
          content: [
            { type: 'text', text: 'I will look.' },
            { type: 'toolRequest', id: 't1', toolCall: { value: { name: 'shell' } } },
          ],
        },
        { role: 'user', created: 3, content: [{ type: 'toolResponse', id: 't1' }] },
        { role: 'assistant', created: 4, content: [{ type: 'text', text: 'Fixed.' }] },
      ],
      metadata: { total_tokens: 1250, status },
    },
    null,
    2,
  )

it('L46: Goose: the last words of the assistant are the answer', () => {
  const reply = { kind: 'reply', text: 'Fixed.', usage: null }
  expect(parse('goose', gooseOutput('completed'))).toEqual(reply)
  expect(parse('goose', `starting session\n${gooseOutput('completed')}`)).toEqual(reply)
})

it('L46: Goose: another end than completed, and no result, are failures', () => {
  expect(parse('goose', gooseOutput('cancelled'))).toEqual({
    kind: 'failed',
    message: 'Goose ended with cancelled.',
  })
  expect(parse('goose', 'error: no provider configured').kind).toBe('failed')
  expect(parse('goose', '{"messages":[],"metadata":{}}')).toEqual({ kind: 'nothing' })
})

const part = (type: string, rest: object) => ({
  ...{ type, timestamp: 1, sessionID: 'ses_1' },
  part: { id: 'prt_1', sessionID: 'ses_1', messageID: 'msg_1', ...rest },
})
const tokens = { input: 200, output: 30, reasoning: 5, cache: { read: 1000, write: 0 } }

it('L46: OpenCode: the text of the last step is the answer, and usage is summed over all', () => {
  const stream = lines(
    part('step_start', { type: 'step-start' }),
    part('text', { type: 'text', text: 'I will look.' }),
    part('tool_use', { type: 'tool', tool: 'bash', state: { status: 'completed', output: '' } }),
    part('step_finish', { type: 'step-finish', reason: 'tool-calls', tokens, cost: 0.001 }),
    part('step_start', { type: 'step-start' }),
    part('text', { type: 'text', text: 'Fixed.' }),
    part('step_finish', { type: 'step-finish', reason: 'stop', tokens, cost: 0.002 }),
  )
  expect(parse('opencode', stream)).toEqual({
    kind: 'reply',
    text: 'Fixed.',
    usage: { inputTokens: 2400, outputTokens: 70, costMicrousd: 3000 },
  })
})

it('L46: OpenCode: an error event, no words and no output are told apart', () => {
  const error = { name: 'ProviderAuthError', data: { message: 'no key for anthropic' } }
  expect(parse('opencode', lines({ type: 'error', timestamp: 1, sessionID: 's', error }))).toEqual({
    kind: 'failed',
    message: 'no key for anthropic',
  })
  expect(parse('opencode', lines(part('step_start', { type: 'step-start' })))).toEqual({
    kind: 'nothing',
  })
  expect(parse('opencode', '').kind).toBe('failed')
})

const aiderOutput = `Aider v0.86.1
Main model: claude-3-7-sonnet with diff edit format
Weak model: claude-3-5-haiku
Git repo: .git with 12 files
Repo-map: using 4096 tokens, auto refresh

The bound was off by one.

src/a.ts
<<<<<<< SEARCH
i <= n
=======
i < n
>>>>>>> REPLACE


Tokens: 2.1k sent, 310 received. Cost: $0.01 message, $0.01 session.
Tokens: 1.5k sent, 1k cache hit, 12 received. Cost: $0.002 message, $0.012 session.
Applied edit to src/a.ts
Commit 1a2b3c4 fix: loop bound
`

it('L46: Aider: its answer, its edits and its commit, without what it says about itself', () => {
  const action = parse('aider', aiderOutput)
  expect(action).toEqual({
    kind: 'reply',
    text: expect.stringMatching(
      /^The bound was off by one\.\n\nsrc\/a\.ts\n[\s\S]*Commit 1a2b3c4 fix: loop bound$/,
    ),
    usage: { inputTokens: 3600, outputTokens: 322, costMicrousd: 12_000 },
  })
})

it('L46: Aider: a key that is refused is a failure, and its banner alone is nothing', () => {
  expect(
    parse(
      'aider',
      'Aider v0.86.1\nlitellm.AuthenticationError: AnthropicException - invalid key\n',
    ),
  ).toEqual({
    kind: 'failed',
    message: 'Aider failed: litellm.AuthenticationError: AnthropicException - invalid key',
  })
  expect(parse('aider', 'Aider v0.86.1\nRepo-map: disabled\n')).toEqual({ kind: 'nothing' })
})

it('L46: native: the words are the answer', () => {
  expect(parse('native', ' Hello. ')).toEqual({ kind: 'reply', text: 'Hello.', usage: null })
  expect(parse('native', ' \n')).toEqual({ kind: 'nothing' })
})
