import type { ApprovalRequest } from '../../../src/hub/contract/hub'
import type { ToolApi, ToolCall, ToolResult } from '../../../src/mcp-servers/contract/tools'

export const failure = (message: string) =>
  ({
    code: 'PROVIDER_ERROR',
    message,
    isRetryable: false,
    retryAfterMs: null,
    mayBeCharged: false,
  }) as const

export const toApproval = (call: ToolCall): ApprovalRequest => ({
  callId: call.callId,
  tool: call.tool,
  grant: 'hub:write',
  tier: 'write',
  arguments: call.arguments,
  argumentsHash: call.arguments,
})

export const toResult = (call: ToolCall, text: string, isError = false): ToolResult => ({
  callId: call.callId,
  text,
  isError,
  approval: null,
  durationMs: 1,
  audit: {
    callId: call.callId,
    tool: call.tool,
    grant: 'hub:read',
    argumentsHash: '',
    decision: 'allowed',
    outcome: isError ? 'error' : 'ok',
    durationMs: 1,
    resultBytes: text.length,
    at: 1,
  },
})

/** @param more names of tools besides those that every test has */
export const createTools = (more: readonly string[]): ToolApi => ({
  refresh: () => undefined,
  list: () =>
    ['look', 'act', 'hang', ...more].map((name) => ({
      name,
      description: name,
      inputSchema: { type: 'object' },
      tier: name === 'act' ? 'write' : 'read',
      isIdempotent: true,
      isSequential: false,
      doing: name,
    })),
  describe: (name) => ({
    isIdempotent: true,
    isSequential: false,
    doing: name,
    answersAsOf: false,
  }),
  listInstructions: () => [],
  isGranted: () => true,
  findRefusal: () => null,
  measureFiles: () => null,
  endRun: async () => {},
  call: () => new Promise<never>(() => {}),
})
