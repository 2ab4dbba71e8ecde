import * as z from 'zod'
import { presentIdempotent, type Route, route } from '../http/route'
import { ruleInput } from '../standing-rules/inputs'
import { presentScope, ruleScopeAnswer } from '../standing-rules/present'
import { submitDecision, submitDecisions } from './actions'
import { decisionBody, decisionsBody } from './inputs'
import { prepareRule } from './prepare-rule'
import { approvalAnswer, presentForAdmin } from './present'

const tag = 'tools'

export const approvalRoutes: Route[] = [
  route({
    method: 'post',
    path: '/approvals/decide',
    summary: 'Approves or denies several pending calls at once; the agents resume at once (admin)',
    tag,
    access: 'admin',
    rate: 'write',
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
    tag,
    access: 'admin',
    rate: 'write',
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
    tag,
    access: 'admin',
    rate: 'write',
    body: ruleInput,
    answer: z.object({ standing_rule: ruleScopeAnswer }),
    handle: async (call) => ({
      standing_rule: presentScope(
        await prepareRule(call.context, call.actor(), call.param('id'), call.body),
      ),
    }),
  }),
]
