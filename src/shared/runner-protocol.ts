import * as z from 'zod'

/**
 * Messages between the hub and a runner, as JSON text frames of one WebSocket that the runner opens to
 * `/runners/socket` with a key of scope `runner`. `ping` and `pong` are plain text frames.
 *
 * A run is an attempt of one activation on one runner. Reports of an attempt count from 1 without gaps.
 * The hub acknowledges the highest report that it has stored; a runner keeps what is not acknowledged and
 * sends it again after a reconnection. The hub ignores what it has, and everything of an attempt that is
 * no longer the activation's current one.
 */

/** Changes when a message changes in a way that the other side cannot ignore. */
export const runnerProtocolVersion = 2

/** The longest frame of a runner, in characters; a longer one closes the connection. */
export const runnerFrameCharsMax = 8 * 1024 * 1024

/** Codes with which the hub closes a connection. After any other code the runner reconnects, too. */
export const runnerCloseCodes = {
  /** The frame is not one of these messages; the reason names what is wrong. */
  badFrame: 1008,
  /** The hub could not store reports: reconnect, and send them again. */
  tryAgain: 1013,
  /** The key was revoked, or its account may not run runners any more. The runs are lost. */
  accessEnded: 4403,
  /** Another process has connected with this key and name; this one must end. */
  replaced: 4409,
} as const

/** Coding agents that a runner can start. */
export const programTypes = ['claude-code', 'codex', 'opencode', 'goose', 'aider'] as const
export type ProgramType = (typeof programTypes)[number]

/** What a model endpoint speaks. */
const modelProtocols = ['anthropic-messages', 'openai-chat', 'openai-responses'] as const
export type ModelProtocol = (typeof modelProtocols)[number]

/** A coding agent's own tools: none, reading and writing files, or also commands. */
export const builtinTools = ['none', 'files', 'shell'] as const
export type BuiltinTools = (typeof builtinTools)[number]

const label = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,39}$/, 'Must be a label: a-z, 0-9, . _ -')
const count = z.int().min(0)
const positive = z.int().min(1)

const attempt = { activation_id: z.string().min(1).max(100), attempt: positive }

/** An attempt that is running or whose reports are not all acknowledged. */
const heldRun = z.object({ ...attempt, sent: count, is_ended: z.boolean() })

/** Everything that a run needs. Nothing else of the hub reaches the machine. */
export const runOrder = z.object({
  ...attempt,
  agent: z.string(),
  program: z.enum(programTypes),
  /** Instructions of the agent; a launch profile decides how the program receives them. */
  system_prompt: z.string(),
  /** The task with its context. */
  prompt: z.string(),
  model: z.object({
    /** As its provider names it. */
    name: z.string(),
    /** The protocols that its provider speaks. */
    protocols: z.array(z.enum(modelProtocols)).min(1),
    context_tokens: positive,
    output_tokens: positive,
  }),
  limits: z.object({
    /** Milliseconds since the epoch. */
    ends_at: positive,
    /** Milliseconds without a model request, a tool call or an update. */
    silence_ms: positive,
    model_requests: positive,
    /** Characters of all updates together. */
    output_chars: positive,
  }),
  builtin: z.enum(builtinTools),
  workspace: z
    .object({
      /** The path of the repository below the hub's `/git/`, e.g. `github/owner/name`. */
      repository: z.string(),
      ref: z.string().nullable(),
      /** The branch to work on; a later run of the same conversation continues on it. */
      branch: z.string(),
      push: z.array(z.string()),
    })
    .nullable(),
  /** The program's session of an earlier attempt or run, to be loaded where the program can. */
  session_id: z.string().nullable(),
  /** Opens the model gateway, `/mcp` and `/git` while the activation runs, and nothing else. */
  token: z.string(),
  /** Absolute URLs on the hub, as the runner reaches it. */
  endpoints: z.object({
    /** Base URL; the protocol's own paths follow, e.g. `/v1/messages`. */
    models: z.string(),
    mcp: z.string(),
    git: z.string(),
  }),
})
export type RunOrder = z.output<typeof runOrder>

/** `parked`: the run waits for an approval and goes on later, so its work and its session are kept. */
export const runStopReasons = [
  'cancelled',
  'max_duration',
  'ended',
  'superseded',
  'parked',
] as const

export const hubMessage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('welcome'),
    runner_id: z.string(),
    /** How often the runner sends `ping`, in milliseconds. */
    ping_ms: positive,
    /** Held runs that the hub no longer waits for: stop them and forget their reports. */
    forget: z.array(z.object(attempt)),
  }),
  z.object({ type: z.literal('start'), order: runOrder }),
  /** End the attempt now and send what is left to report. */
  z.object({ type: z.literal('stop'), ...attempt, reason: z.enum(runStopReasons) }),
  z.object({ type: z.literal('acknowledge'), ...attempt, report: count }),
  /** Delete what is kept of these sessions. */
  z.object({ type: z.literal('forget_sessions'), session_ids: z.array(z.string()) }),
  /** Take no further runs; those that are running go on. */
  z.object({ type: z.literal('drain'), is_draining: z.boolean() }),
])
export type HubMessage = z.output<typeof hubMessage>

/** What an attempt reports. Texts are bounded by the runner. */
export const runReport = z.discriminatedUnion('kind', [
  /** The program runs; its MCP connection was proven with a `tools/list`. */
  z.object({
    kind: z.literal('started'),
    version: z.string().max(100),
    session_id: z.string().max(200).nullable(),
    /** Whether an earlier session was loaded. */
    is_resumed: z.boolean(),
  }),
  z.object({ kind: z.literal('text'), text: z.string().max(20_000) }),
  z.object({ kind: z.literal('reasoning'), text: z.string().max(20_000) }),
  z.object({
    kind: z.literal('plan'),
    steps: z
      .array(
        z.object({
          title: z.string().max(500),
          status: z.enum(['pending', 'running', 'completed']),
        }),
      )
      .max(100),
  }),
  /** A tool call as the program shows it. A note: the hub's own record is that of the gateway. */
  z.object({
    kind: z.literal('tool'),
    call_id: z.string().max(200),
    title: z.string().max(500),
    status: z.enum(['running', 'completed', 'failed']),
    /** Whether it is one of the program's own tools, e.g. an edit of a file. */
    is_builtin: z.boolean(),
  }),
  z.object({ kind: z.literal('notice'), text: z.string().max(2_000) }),
  /** The last report of an attempt. */
  z.object({
    kind: z.literal('ended'),
    /** What the program claims; the hub judges. `lost`: it died, or the runner was restarted. */
    end: z.enum([
      'end_turn',
      'max_tokens',
      'max_turn_requests',
      'refusal',
      'cancelled',
      'error',
      'no_tools',
      'silent',
      'output_limit',
      'lost',
    ]),
    /** In words, for people; null when the end needs none. */
    detail: z.string().max(2_000).nullable(),
    /** Whether the program's own success predicate holds. */
    is_success: z.boolean(),
    /** The last message after the last tool call. */
    answer: z.string().max(100_000),
    session_id: z.string().max(200).nullable(),
    /** What changed in the workspace; null without one. */
    changes: z
      .object({
        branch: z.string().max(300),
        /** The id of the last commit that was pushed; null: none. */
        pushed: z.string().max(64).nullable(),
        /** The commit of the branch that the run continued, and that the changes count from; null: a new branch. */
        since: z.string().max(64).nullable().default(null),
        stat: z.string().max(20_000),
        /** At most 1 MiB; one that is longer ends with a line that says so. Binary files are named only. */
        patch: z.string().max(1_048_576),
      })
      .nullable(),
  }),
])
export type RunReport = z.output<typeof runReport>

export const runnerMessage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('hello'),
    protocol: z.literal(runnerProtocolVersion),
    version: z.string().max(40),
    /** Chosen by the operator, e.g. the machine's name; unique among the runners of one key. */
    name: label,
    labels: z.array(label).max(20),
    slots: z.int().min(1).max(64),
    /** Whether a sandbox is available, without which built-in tools are refused. */
    has_sandbox: z.boolean(),
    programs: z
      .array(z.object({ type: z.enum(programTypes), version: z.string().max(100) }))
      .max(programTypes.length),
    runs: z.array(heldRun).max(64),
  }),
  z.object({
    type: z.literal('report'),
    ...attempt,
    /** The number of the first of these reports. */
    first: positive,
    reports: z.array(runReport).min(1).max(100),
  }),
  /** The runner cannot take the order, e.g. the program is missing or all slots are in use. */
  z.object({ type: z.literal('refuse'), ...attempt, reason: z.string().max(500) }),
])
export type RunnerMessage = z.output<typeof runnerMessage>
