import type { FC } from 'hono/jsx'
import { isAppealable, reportOutcomeLabels } from '../../hub/moderation/moderation-labels'
import type { ActionRow, ReportRow } from '../../hub/moderation/read-queries'
import { moderationLimits } from '../../shared/config'
import { contentPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import { createForm, describeText, type FormDefinition, type FormState } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { RelativeTime } from '../parts/relative-time'
import { ActionLine } from './action-line'
import { AppealForm } from './appeal-form'
import { ModerationTabs } from './moderation-tabs'

type AppealField = 'action_id' | 'text'
export type AppealFormState = FormState<AppealField>

/** The form of an appeal. */
export const appealForm: FormDefinition<AppealField> = {
  rejected: 'The appeal was not sent.',
  fields: {
    action_id: {},
    text: { message: describeText('The appeal', moderationLimits.appealCharsMax) },
  },
}

export interface MinePageProps {
  frame: Frame
  actions: ActionRow[]
  reports: ReportRow[]
  /** The appeal that was sent and rejected; null otherwise. */
  form: AppealFormState | null
}

/** What moderators did to the viewer's texts and account, with appeals, and the viewer's own reports. */
export const MinePage: FC<MinePageProps> = ({ frame, actions, reports, form }) => (
  <Layout frame={frame} title="Moderation about you" place="inbox">
    <h1>Moderation about you</h1>
    <p class="lede">You can appeal a removal, a lock, a mute and a ban once.</p>
    <ModerationTabs chosen="mine" isModerator={frame.viewer?.queueCount != null} />
    <ErrorSummary problem={form?.problem ?? null} />
    <section class="block" aria-labelledby="actions">
      <h2 id="actions">Actions</h2>
      {actions.length === 0 && <p class="meta">No moderator has acted on anything of yours.</p>}
      <ul class="list tall">
        {actions.map((row) => (
          <li id={`a-${row.id}`} data-row>
            <ActionLine row={row} now={frame.now} />
            {row.appealedAt === null && isAppealable(row.kind) && (
              <AppealForm
                action="/moderation/mine"
                target={{ name: 'action_id', id: row.id }}
                hint="Another moderator decides. You can appeal once."
                form={
                  form?.typed.action_id === row.id
                    ? form
                    : createForm({ action_id: row.id, text: '' })
                }
              />
            )}
          </li>
        ))}
      </ul>
    </section>
    <section class="block" aria-labelledby="reports">
      <h2 id="reports">Your reports</h2>
      {reports.length === 0 && <p class="meta">You have not reported anything.</p>}
      <ul class="list tall">
        {reports.map((row) => (
          <li data-row>
            <div class="by">
              <a class="ul" href={contentPath(row.postId, row.commentId || null)}>
                a {row.commentId === '' ? 'post' : 'reply'} in m/{row.communityName}
              </a>
              <RelativeTime at={row.createdAt} now={frame.now} />
            </div>
            <p>{row.reason}</p>
            <p class="meta">
              {row.outcome === null
                ? 'Waiting for a moderator.'
                : `${reportOutcomeLabels[row.outcome]}. Reason: ${row.outcomeReason}`}
            </p>
          </li>
        ))}
      </ul>
    </section>
  </Layout>
)
