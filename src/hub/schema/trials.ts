import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core'
import type { ActivationId, CaseId, CaseSetId, ReplayId, TrialId } from '../../shared/ids'
import type {
  CaseCheck,
  CaseFindings,
  SampleResults,
  TrialLaneLimits,
  Verdict,
} from '../contract/trials'
import { accountRef } from './accounts'
import { activations } from './activations'
import { replays } from './replays'

/** Sets of recorded runs on which changes of an agent are tried. */
export const caseSets = sqliteTable(
  'case_sets',
  {
    id: text('id').$type<CaseSetId>().primaryKey(),
    agentId: accountRef('agent_id').notNull(),
    name: text('name').notNull(),
    /** The name without regard to case and white space. */
    nameKey: text('name_key').notNull(),
    createdBy: accountRef('created_by').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    unique('case_sets_name').on(table.agentId, table.nameKey),
    index('case_sets_by_account').on(table.createdBy),
  ],
)

/** Runs of a set with what a good answer to each must do. */
export const cases = sqliteTable(
  'cases',
  {
    id: text('id').$type<CaseId>().primaryKey(),
    setId: text('set_id')
      .$type<CaseSetId>()
      .notNull()
      .references(() => caseSets.id),
    activationId: text('activation_id')
      .$type<ActivationId>()
      .notNull()
      .references(() => activations.id),
    checks: text('checks', { mode: 'json' }).$type<CaseCheck[]>().notNull().default([]),
    /** What would have been right. */
    note: text('note').notNull().default(''),
    createdBy: accountRef('created_by').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [
    unique('cases_run').on(table.setId, table.activationId),
    index('cases_of_run').on(table.activationId),
    index('cases_by_account').on(table.createdBy),
  ],
)

/** Sets that are replayed with the active definition of their agent and with a draft of another. */
export const trials = sqliteTable(
  'trials',
  {
    id: text('id').$type<TrialId>().primaryKey(),
    setId: text('set_id')
      .$type<CaseSetId>()
      .notNull()
      .references(() => caseSets.id),
    agentId: accountRef('agent_id').notNull(),
    /** Who asked for it, and pays. */
    requestedBy: accountRef('requested_by').notNull(),
    /** Files of the draft by path. */
    draft: text('draft', { mode: 'json' }).$type<Record<string, string>>().notNull(),
    /** The version that was active when it began. */
    baselineVersion: integer('baseline_version').notNull(),
    /** How often each case runs with either definition. */
    repeats: integer('repeats').notNull(),
    /** `provider/model` that compares answers; null when people do. */
    judge: text('judge'),
    /** What each kind of lane may use at most. */
    limits: text('limits', { mode: 'json' }).$type<TrialLaneLimits>().notNull(),
    costMaxMicrousd: integer('cost_max_microusd').notNull(),
    /** Runs of the agent in the 30 days before. */
    runsMonth: integer('runs_month').notNull(),
    createdAt: integer('created_at').notNull(),
    cancelledAt: integer('cancelled_at'),
    /** Null while cases are queued or run. */
    finishedAt: integer('finished_at'),
  },
  (table) => [
    index('trials_of_set').on(table.setId, sql`${table.createdAt} DESC`),
    index('trials_by_account').on(table.requestedBy),
    index('trials_open').on(table.id).where(sql`${table.finishedAt} IS NULL`),
  ],
)

const verdicts = ['better', 'worse', 'same', 'cannot_tell'] as const satisfies Verdict[]

/** Cases of a trial, as the set had them when it began. */
export const trialCases = sqliteTable(
  'trial_cases',
  {
    id: text('id').$type<CaseId>().primaryKey(),
    trialId: text('trial_id')
      .$type<TrialId>()
      .notNull()
      .references(() => trials.id),
    activationId: text('activation_id')
      .$type<ActivationId>()
      .notNull()
      .references(() => activations.id),
    position: integer('position').notNull(),
    checks: text('checks', { mode: 'json' }).$type<CaseCheck[]>().notNull(),
    note: text('note').notNull().default(''),
    /** What the run was asked; empty until it starts. */
    question: text('question').notNull().default(''),
    /** Null until it starts. */
    replayId: text('replay_id')
      .$type<ReplayId>()
      .references(() => replays.id),
    /** `skipped`: it could not run, for the reason. Of one that is done the reason says what kept it from being compared. */
    state: text('state', {
      enum: ['queued', 'running', 'judging', 'done', 'skipped', 'cancelled'],
    }).notNull(),
    reason: text('reason'),
    /** What the checks found of each sample of either definition. */
    results: text('results', { mode: 'json' }).$type<SampleResults>(),
    /** What else was found when its lanes had ended. */
    findings: text('findings', { mode: 'json' }).$type<CaseFindings>(),
    checksVerdict: text('checks_verdict', { enum: verdicts }),
    judgeVerdict: text('judge_verdict', { enum: verdicts }),
    peopleVerdict: text('people_verdict', { enum: verdicts }),
    /** Who compared the answers last. */
    judgedBy: accountRef('judged_by'),
    judgedAt: integer('judged_at'),
  },
  (table) => [
    unique('trial_cases_run').on(table.trialId, table.activationId),
    index('trial_cases_of_run').on(table.activationId),
    index('trial_cases_of_replay').on(table.replayId),
    index('trial_cases_by_account').on(table.judgedBy),
  ],
)
