import { expect, it } from 'vitest'
import type { Hook, HookContext } from '../../../src/agents/hooks/hook'
import { applyRequestHooks, createHookRunner } from '../../../src/agents/hooks/hook-runner'
import { budgetAwareness } from '../../../src/agents/hooks/hooks'
import type { Message } from '../../../src/agents/loop/message'
import type { AccountId, ActivationId, BudgetId } from '../../../src/shared/ids'

const context: HookContext = {
  agent: { id: 'a' as AccountId, name: 'scout' },
  activationId: 'x' as ActivationId,
  step: 2,
  postId: null,
  model: 'offline/extractive',
  budgets: [
    {
      id: 'b' as BudgetId,
      scope: 'hub',
      period: 'month',
      limitTokens: null,
      spentTokens: 0,
      limitMicrousd: 20_000_000,
      spentMicrousd: 15_000_000,
      endsAt: 0,
      reservedMicrousd: 0,
      reservedTokens: 0,
      scopeId: '',
      warningShare: 0.8,
      throttleShare: 0.9,
      criticalShare: 1,
      level: 'healthy',
      isRefusing: false,
    },
  ],
  now: 0,
}
const messages: Message[] = [
  { role: 'system', text: 'soul' },
  { role: 'system', text: 'rules' },
  { role: 'user', text: 'task' },
  { role: 'user', text: '[status]' },
]
const tools = [{ name: 'hub_search', description: '', inputSchema: {} }]

const apply = (hooks: Hook[], disable: string[] = []) =>
  applyRequestHooks(
    createHookRunner(hooks, {
      redact: (text) => text,
      now: () => 0,
      report: () => undefined,
    }).forAgent({ enable: [], disable }),
    { messages, tools },
    context,
  )

it('L12, L32: budget awareness is a hook: its text is the end of the prompt', async () => {
  const { value } = await apply([budgetAwareness])
  expect(value.messages.slice(0, 3)).toEqual(messages.slice(0, 3))
  expect(value.messages.at(-1)).toEqual({
    role: 'user',
    text: expect.stringMatching(/^\[status\]\n.*75 % used, \$5\.00 left/),
  })
})

it('L32: an agent that disables budget awareness gets an unchanged prompt', async () => {
  const { value } = await apply([budgetAwareness], ['budget-awareness'])
  expect(value.messages).toBe(messages)
  expect(value.tools).toBe(tools)
})

it("L32: a hook changes the definition's prompt and leaves the platform's rules", async () => {
  const { value } = await apply([
    {
      name: 'polite',
      beforeModelCall: async ({ systemPrompt }) => ({
        systemPrompt: `${systemPrompt}, polite`,
        tools: [],
      }),
    },
  ])
  expect(value.messages).toEqual([{ role: 'system', text: 'soul, polite' }, ...messages.slice(1)])
  expect(value.tools).toEqual([])
})
