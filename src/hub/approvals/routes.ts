import * as z from 'zod'
import { requireAdmin } from '../http/authenticate'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import {
  decisionBody,
  decisionsBody,
  endRule,
  prepareRule,
  readRuleStates,
  ruleInput,
  submitDecision,
  submitDecisions,
} from './actions'
import {
  approvalAnswer,
  presentForAdmin,
  presentRule,
  presentScope,
  ruleAnswer,
  ruleScopeAnswer,
} from './answers'
import { selectRules } from './queries'

const route = routesOf('tools')

export const approvalRoutes: Route[] = [
  route({
    method: 'post',
    path: '/approvals/decide',
    summary: 'Approves or denies several pending calls at once; the agents resume at once (admin)',
    access: 'admin',
    body: decisionsBody,
    answer: z.object({ approvals: z.array(approvalAnswer) }),
    handle: async (call) => {
      const { ids, ...decision } = call.body
      const done = await submitDecisions(call.context, call.actor(), ids, decision)
      return presentIdempotent(call, done, (rows) => ({
        approvals: rows.map((row) => presentForAdmin(call, row)),
      }))
    },
  }),
  route({
    method: 'post',
    path: '/approvals/:id/decide',
    summary:
      'Approves or denies a pending call; the agent resumes at once. With standing_rule also creates a rule for such calls (admin)',
    access: 'admin',
    body: decisionBody,
    answer: z.object({
      approval: approvalAnswer,
      standing_rule: ruleScopeAnswer.nullable().describe('What the created rule covers.'),
    }),
    handle: async (call) => {
      const done = await submitDecision(call.context, call.actor(), call.param('id'), call.body)
      return presentIdempotent(call, done, ({ row, rule }) => ({
        approval: presentForAdmin(call, row),
        standing_rule: rule && presentScope(rule),
      }))
    },
  }),
  route({
    method: 'post',
    path: '/approvals/:id/rule-preview',
    summary: 'Returns what a standing rule created with this approval would cover (admin)',
    access: 'admin',
    body: ruleInput,
    answer: z.object({ standing_rule: ruleScopeAnswer }),
    handle: async (call) => ({
      standing_rule: presentScope(
        await prepareRule(call.context, call.actor(), call.param('id'), call.body),
      ),
    }),
  }),
]

export const standingRuleRoutes: Route[] = [
  route({
    method: 'get',
    path: '/standing-rules',
    summary:
      'Lists the standing rules: calls that need no approval until a time, with their uses, newest first (admin)',
    // The rows are read together with the viewer, in one round trip.
    access: 'own',
    answer: z.object({ standing_rules: z.array(ruleAnswer) }),
    handle: async ({ context, credential, read }) => {
      const { viewer, answers } = await read({
        rows: selectRules({ credential, now: context.clock.now() }),
      })
      if (viewer) requireAdmin(viewer)
      return { standing_rules: (await readRuleStates(context, answers.rows)).map(presentRule) }
    },
  }),
  route({
    method: 'delete',
    path: '/standing-rules/:id',
    summary: 'Revokes a standing rule, from the next call on (admin)',
    access: 'admin',
    answer: z.object({ standing_rule: ruleAnswer }),
    handle: async (call) => ({
      standing_rule: presentRule(await endRule(call.context, call.actor(), call.param('id'))),
    }),
  }),
]
