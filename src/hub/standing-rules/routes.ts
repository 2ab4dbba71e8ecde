import * as z from 'zod'
import { requireAdmin } from '../http/authenticate'
import { type Route, route } from '../http/route'
import { endRule } from './actions'
import { presentRule, ruleAnswer } from './present'
import { selectRules } from './queries'
import { readRuleStates } from './read-rules'

const tag = 'tools'

export const standingRuleRoutes: Route[] = [
  route({
    method: 'get',
    path: '/standing-rules',
    summary:
      'Lists the standing rules: calls that need no approval until a time, with their uses, newest first (admin)',
    tag,
    // The rows are read together with the viewer, in one round trip.
    access: 'own',
    rate: 'read',
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
    tag,
    access: 'admin',
    rate: 'write',
    answer: z.object({ standing_rule: ruleAnswer }),
    handle: async (call) => ({
      standing_rule: presentRule(await endRule(call.context, call.actor(), call.param('id'))),
    }),
  }),
]
