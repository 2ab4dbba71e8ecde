import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { newIdSql } from '../../shared/db/new-id'
import { type Params, prepare, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { NotifyRequest } from '../contract/hub'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { inboxItems } from '../schema/inbox'

const x = alias(activations, 'x')
const u = alias(accounts, 'u')
const i = alias(inboxItems, 'i')

/** Notifies the people that a running activation acts for, once. */
export const insertNotice = prepare((v: Params<NotifyRequest & { id: string }>) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: newIdSql(v.id),
        accountId: u.id,
        type: 'system',
        postId: x.postId,
        fromAccountId: x.agentId,
        content: v.text,
        createdAt: v.now,
        activationId: x.id,
      },
      sql`FROM ${activations} ${x} CROSS JOIN json_each(${x.requesters}) r
        CROSS JOIN ${accounts} ${u} ON ${u.id} = r.value AND ${u.kind} = 'human'
      WHERE ${x.id} = ${v.activationId} AND ${x.agentId} = ${v.agentId} AND ${x.state} = 'running'
        AND NOT EXISTS (SELECT 1 FROM ${inboxItems} ${i}
          WHERE ${i.activationId} = ${x.id} AND ${i.accountId} = ${u.id} AND ${i.type} = 'system')`,
    ),
  ),
)
