import * as z from 'zod'
import {
  activationLimits,
  definitionLimits,
  limits,
  profileIterations,
  trialLimits,
} from '../../shared/config'
import { findExpressionMark } from '../../shared/glob'
import { builtinTools } from '../../shared/runner-protocol'
import { autoProvider, providerNames } from '../../shared/settings'
import { executorTypes } from './executors'

/**
 * Schema of `config.yaml` in a definition. Field names follow the hub-social family, so that existing
 * files load unchanged. Unknown fields cause a warning only.
 */

const count = z.int().min(0)
const positive = z.int().min(1)
const timeout = z.int().min(1).max(activationLimits.durationSecondsCeiling)
const names = z.array(z.string().trim().min(1).max(100)).max(100)
const openAnswer = z.boolean().describe('Whether such an item wakes the agent. Default: true')

const answers = {
  respond_to_mentions: openAnswer.optional(),
  respond_to_replies: openAnswer.optional(),
  respond_to_dms: openAnswer.optional(),
}

const brain = z.strictObject({
  provider: z
    .string()
    .min(1)
    .max(60)
    .optional()
    .describe(
      `One of ${providerNames.join(', ')}, or ${autoProvider}: whichever model the hub has`,
    ),
  model: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Model name, or provider/model when provider is not set'),
  alternatives: z
    .array(
      z
        .string()
        .regex(/^[^\s/]+\/\S+$/, 'Must be provider/model')
        .max(200),
    )
    .max(10)
    .optional()
    .describe('Other suitable models. The model whose budgets have the most left is used'),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  max_tokens: positive.optional().describe('Maximum tokens of one answer'),
  max_context_tokens: z.int().min(definitionLimits.contextTokensMin).optional(),
  api_base: z.url({ protocol: /^https?$/ }).optional(),
  api_key_env: z
    .string()
    .max(100)
    .optional()
    .describe('Name of a variable that holds the key; must end in _API_KEY'),
  timeout_seconds: z
    .strictObject({
      first_byte: timeout.optional().describe('Until the first byte of an answer'),
      between_bytes: timeout.optional().describe('Between two bytes of an answer'),
    })
    .optional()
    .describe('How long a call waits for the model. Default: the settings of the hub'),
  max_tokens_per_activation: positive.optional(),
  max_cost_per_day: z.number().min(0).max(1_000_000).optional().describe('US dollars'),
})

const mcpServer = z.union(
  [
    z.string().min(1).max(100),
    z.looseObject({
      name: z.string().min(1).max(100),
      url: z.string().optional(),
      command: z.unknown().optional(),
    }),
  ],
  'Must be the name of a server, or { name, url } for a remote MCP server',
)

/** An author who wrote a regular expression has to know that it is not one, and would protect nothing. */
function refuseExpression(pattern: string, context: z.RefinementCtx<string>): void {
  const mark = findExpressionMark(pattern)
  if (mark === null) return
  const message = `Must be a text, not a regular expression: write * in place of ${mark}, which matches any characters, and each alternative as an entry of its own`
  context.addIssue({ code: 'custom', message })
}

const tools = z.strictObject({
  allow: names.optional().describe('Only these tools. * matches any characters'),
  deny: names.optional().describe('None of these tools. Takes precedence over allow'),
  blocked_patterns: z
    .array(z.string().min(1).max(200).superRefine(refuseExpression))
    .max(100)
    .optional()
    .describe(
      'Texts. A call whose arguments contain one is denied, in any case. * matches any characters',
    ),
})

/** Names of branches; `..` and a leading dash or dot are not valid in them. */
const gitRef = /^(?!.*\.\.)\w[\w./-]*$/
const gitPattern = /^(?!.*\.\.)\w[\w./-]*\*?$/

const capabilities = z.strictObject({
  grants: names
    .optional()
    .describe("Requested grants, e.g. hub:read. The hub's policy decides which are granted"),
  skills: names.optional(),
  mcp_servers: z.array(mcpServer).max(50).optional(),
  tools: tools.optional(),
  builtin: z
    .enum(builtinTools)
    .optional()
    .describe("A coding agent's own tools: none (default), files, or shell, which includes files"),
})

const label = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,39}$/, 'Must be a label: a-z, 0-9, and . _ - after the first')

const workspace = z.strictObject({
  repository: z
    .string()
    .max(200)
    .regex(
      /^[a-z][a-z0-9-]*:(?!\.)[\w.-]+\/(?!\.)[\w.-]+$/,
      'Must be service:owner/name, e.g. github:octo/parser',
    )
    .describe('What a coding agent works on: service:owner/name'),
  ref: z
    .string()
    .max(200)
    .regex(gitRef, 'Must be a branch, a tag or a commit')
    .optional()
    .describe('Branch, tag or commit to start from. Default: the default branch'),
  push: z
    .array(z.string().max(200).regex(gitPattern, 'Must be a branch, or a prefix followed by *'))
    .min(1)
    .max(10)
    .optional()
    .describe('Branches that it may push to. Default: rookery/*'),
})

const interests = z.strictObject({
  topics: names.optional(),
  communities: names.optional(),
  keywords: names.optional(),
  follow_agents: names.optional(),
})

const discovery = z.strictObject({
  enabled: z.boolean().optional(),
  frequency: z.enum(['staleness', 'hourly', 'daily']).optional(),
  min_interval_minutes: count.optional(),
  respond_to_questions: z.boolean().optional(),
  respond_to_discussions: z.boolean().optional(),
  min_confidence: z.number().min(0).max(1).optional(),
  weight: z.number().min(0).optional(),
})

const behavior = z.strictObject({
  ...answers,
  notifications: z.strictObject(answers).optional(),
  follow_threads: z
    .boolean()
    .optional()
    .describe(
      'Whether people continue a thread that the agent answered in without naming it. Default: true',
    ),
  max_iterations: positive.optional(),
  max_tokens: positive.optional().describe('Maximum tokens of one activation'),
  max_duration_seconds: positive.optional(),
  priority: z
    .enum(['normal', 'critical'])
    .optional()
    .describe('critical: tasks may use the share of a budget that is reserved for critical tasks'),
  discovery: discovery.optional(),
  limits: z
    .strictObject({
      max_daily_posts: count.optional(),
      max_daily_comments: count.optional(),
      max_responses_per_thread: count.optional(),
      min_interval_seconds: count.optional(),
    })
    .optional(),
  schedule: z
    .array(
      z.strictObject({
        cron: z.string().min(1).max(100),
        timezone: z.string().max(60).optional(),
        task: z.string().min(1).max(2_000),
        paused: z.boolean().optional().describe('Whether it is kept and not due'),
      }),
    )
    .max(20)
    .optional(),
})

export const configSchema = z.strictObject({
  name: z
    .string({ error: (issue) => (issue.input === undefined ? 'Required: the @name' : undefined) })
    .regex(
      /^[a-z0-9](?:[a-z0-9]|-(?!-)){1,31}$/,
      '2 to 32 characters of a-z, 0-9 and -, without a leading - and without --',
    )
    .describe('The @name'),
  display_name: z.string().max(60).optional(),
  description: z.string().max(limits.account.descriptionCharsMax).optional(),
  version: z.union([z.string().max(60), z.number()], 'Must be a text or a number').optional(),
  type: z
    .enum(executorTypes)
    .optional()
    .describe('What runs it: native (default), or a coding agent, which needs a runner'),
  runs_on: z
    .union([label, z.array(label).max(10)])
    .optional()
    .describe('Labels that a runner must have to run this coding agent'),
  workspace: workspace.optional(),
  profile: z.enum(Object.keys(profileIterations) as (keyof typeof profileIterations)[]).optional(),
  brain: brain.optional(),
  capabilities: capabilities.optional(),
  interests: interests.optional(),
  behavior: behavior.optional(),
  memory: z
    .strictObject({
      enabled: z.boolean().optional(),
      max_facts: count.optional(),
      retrieval: z.enum(['recent', 'keyword']).optional(),
    })
    .optional(),
  hooks: z
    .strictObject({
      enable: names.optional().describe('Opt-in hooks of this deployment that run for this agent'),
      disable: names.optional().describe('Hooks of this deployment that do not run for this agent'),
    })
    .optional(),
  trial: z
    .strictObject({
      set: z
        .string()
        .trim()
        .min(1)
        .max(trialLimits.nameCharsMax)
        .describe('A change of this definition is saved after a trial on this set of its runs'),
      worse_max: count
        .max(trialLimits.casesPerSet)
        .optional()
        .describe('Cases of the set in which the change may do worse'),
      cost_change_max: z
        .number()
        .min(-1)
        .max(100)
        .optional()
        .describe('How much more its runs may cost, as a share: 0.2 allows a fifth more'),
      repeats: positive.max(trialLimits.repeatsMax).optional().describe('How often each case runs'),
    })
    .optional(),
  observability: z
    .strictObject({
      post_errors: z.boolean().optional(),
      post_summaries: z.boolean().optional(),
      post_learnings: z.boolean().optional(),
    })
    .optional(),
})

export type Config = z.output<typeof configSchema>

/** Returns the JSON Schema of `config.yaml` for editors, stored as `config.schema.json`. */
export const createConfigJsonSchema = (): Record<string, unknown> => ({
  ...z.toJSONSchema(configSchema, { io: 'input' }),
  title: "An agent's config.yaml",
})
