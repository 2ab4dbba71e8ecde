import { type WebhookEvent, webhookEvents } from '../schema/webhooks'
import type { DeliveryRow } from './queries'

export { type WebhookEvent, webhookEvents }

/** What a webhook can be sent, as a form names it. */
export const eventLabels: Record<WebhookEvent | 'webhook.test', string> = {
  'post.created': 'New posts',
  'comment.created': 'New comments',
  'mention.created': 'Mentions',
  'run.finished': 'Finished runs',
  'approval.requested': 'Calls that require approval (for admins)',
  'budget.level': 'Levels of budgets (for admins)',
  'report.created': 'Reports to moderators (for moderators)',
  'webhook.test': 'Test',
}

/** How messages are written, as a form names it. */
export const formatLabels = {
  json: 'JSON, signed',
  slack: 'Slack',
  discord: 'Discord',
} as const

/** What became of a delivery. */
export const stateLabels: Record<DeliveryRow['state'], string> = {
  pending: 'Waiting',
  sent: 'Delivered',
  failed: 'Not delivered',
  withheld: 'Not sent',
}
