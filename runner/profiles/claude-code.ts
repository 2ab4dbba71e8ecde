import { join } from 'node:path'
import type { BuiltinTools } from '../../src/shared/runner-protocol.ts'
import { hubServer, type Profile } from './profile.ts'

const files = ['Read', 'Edit', 'Write', 'Glob', 'Grep']
const tools: Record<BuiltinTools, string[]> = { none: [], files, shell: [...files, 'Bash'] }

export const claudeCode: Profile = {
  type: 'claude-code',
  interface: 'acp',
  protocols: ['anthropic-messages'],
  packageName: '@anthropic-ai/claude-agent-sdk',
  builtin: ['none', 'files', 'shell'],
  hasTools: true,
  listsToolsLate: false,
  launch: ({ order, relayUrl, key, temp, programFolder }) => ({
    command: [
      process.execPath,
      join(programFolder, 'node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js'),
    ],
    env: {
      ANTHROPIC_BASE_URL: relayUrl,
      ANTHROPIC_AUTH_TOKEN: key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_MAX_RETRIES: '2',
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(order.model.output_tokens),
      // Else it tries again just before it counts as silent, again and again.
      API_TIMEOUT_MS: String(2 * order.limits.silence_ms),
      MAX_THINKING_TOKENS: '0',
      CLAUDE_CODE_TMPDIR: temp,
    },
    files: {},
    sessionMeta: {
      claudeCode: {
        options: {
          // Without a list all tools are offered, and those of servers only after a search.
          tools: tools[order.builtin],
          allowedTools: [`mcp__${hubServer}`, ...tools[order.builtin]],
          strictMcpConfig: true,
          settingSources: [],
          model: order.model.name,
          maxTurns: order.limits.model_requests,
          systemPrompt: order.system_prompt,
          settings: { promptSuggestionEnabled: false },
          promptSuggestions: false,
          // Leaves out reminders, and all tools but three.
          extraArgs: order.builtin === 'none' ? { bare: null } : {},
        },
      },
    },
    prompt: order.prompt,
  }),
  isSuccess: () => true,
  toEnd(message) {
    if (/maximum number of turns/i.test(message)) return 'max_turn_requests'
    if (/max_output_tokens|output token maximum/i.test(message)) return 'max_tokens'
    return undefined
  },
}
