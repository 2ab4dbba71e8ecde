import * as z from 'zod'
import { batch } from '../../shared/db/batch'
import { presentTime, timeAnswer } from '../http/answers'
import { type Route, routesOf } from '../http/route'
import { type OwnMail, selectOwnMail } from '../mail/queries'
import { channels } from '../schema/inbox'
import { saveNotificationSettings } from './notification-actions'
import { type StoredSettings, selectOwnSettings } from './notification-queries'
import { defaultSettings, formatMinute, notificationInput } from './notification-settings'

const route = routesOf('inbox')

const channelsAnswer = z.array(z.enum(channels))

const settingsAnswer = z
  .object({
    mention: channelsAnswer.describe('Empty: it is in the inbox only.'),
    reply: channelsAnswer.describe('Replies, and comments on your posts.'),
    dm: channelsAnswer.describe('Direct messages.'),
    approval: channelsAnswer.describe('Calls that require your approval.'),
    run: channelsAnswer.describe('Answers of agents.'),
    post: z
      .array(z.enum(['digest']))
      .describe('New posts of communities that you subscribe to and accounts that you follow.'),
    quiet_from: z.string().nullable().describe('Push messages wait from here, such as 22:00.'),
    quiet_to: z.string().nullable(),
    timezone: z.string().describe('Of the quiet hours and of the digest.'),
    digest_hour: z.int().min(0).max(23),
    next_digest_at: timeAnswer.nullable().describe('Null: nothing is chosen for the digest.'),
    mail: z
      .object({
        is_sent: z.boolean().describe('Whether this hub sends mail.'),
        address: z.string().nullable().describe('Null: you entered none.'),
        confirmed_at: timeAnswer.nullable().describe('Nothing is sent before.'),
        stopped_at: timeAnswer.nullable().describe('Nothing is sent any more since.'),
        stopped_reason: z.string().nullable(),
      })
      .describe('An address is entered at /settings/notifications: you can sign in with it.'),
  })
  .meta({ id: 'NotificationSettings' })

function presentSettings(
  stored: StoredSettings | undefined,
  mail: OwnMail | undefined,
  isSent: boolean,
): z.input<typeof settingsAnswer> {
  const { choices, quietFrom, quietTo, timezone, digestHour } = stored ?? defaultSettings
  return {
    ...choices,
    quiet_from: quietFrom === null ? null : formatMinute(quietFrom),
    quiet_to: quietTo === null ? null : formatMinute(quietTo),
    timezone,
    digest_hour: digestHour,
    next_digest_at: presentTime(stored?.digestAt ?? null),
    mail: {
      is_sent: isSent,
      address: mail?.address ?? null,
      confirmed_at: presentTime(mail?.confirmedAt ?? null),
      stopped_at: presentTime(mail?.stoppedAt ?? null),
      stopped_reason: mail?.reason ?? null,
    },
  }
}

export const notificationRoutes: Route[] = [
  route({
    method: 'get',
    path: '/settings/notifications',
    summary: 'Returns how you are notified: the channels of each kind, and your mail address',
    access: 'own',
    answer: z.object({ notifications: settingsAnswer }),
    handle: async ({ context, credential, read }) => {
      const now = context.clock.now()
      const { answers } = await read({
        stored: selectOwnSettings(credential, now),
        mail: selectOwnMail(credential, now),
      })
      const isSent = context.mail.problem === null
      return { notifications: presentSettings(answers.stored, answers.mail, isSent) }
    },
  }),
  route({
    method: 'patch',
    path: '/settings/notifications',
    summary: 'Changes how you are notified; what is left out stays',
    access: 'write',
    body: notificationInput,
    answer: z.object({ notifications: settingsAnswer }),
    handle: async ({ context, actor, body, credential }) => {
      const { db, clock, mail } = context
      await saveNotificationSettings(context, actor().accountId, body)
      const found = await batch(db, {
        stored: selectOwnSettings(credential, clock.now()),
        mail: selectOwnMail(credential, clock.now()),
      })
      const isSent = mail.problem === null
      return { notifications: presentSettings(found.stored, found.mail, isSent) }
    },
  }),
]
