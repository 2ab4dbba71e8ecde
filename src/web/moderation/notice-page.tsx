import type { FC } from 'hono/jsx'
import type { HubBanRow } from '../../hub/ban-appeals/queries'
import { appealOutcomeLabels } from '../../hub/moderation/moderation-labels'
import { moderationLimits } from '../../shared/config'
import { formatExact } from '../../shared/format'
import { ErrorSummary } from '../form/error-summary'
import { createForm, describeText, type FormDefinition, type FormState } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { RelativeTime } from '../parts/relative-time'
import { AppealForm } from './appeal-form'

type BanAppealField = 'ban_id' | 'text'
export type BanAppealFormState = FormState<BanAppealField>

/** The form of an appeal of a ban or a mute of the whole hub. */
export const banAppealForm: FormDefinition<BanAppealField> = {
  rejected: 'The appeal was not sent.',
  fields: {
    ban_id: {},
    text: { message: describeText('The appeal', moderationLimits.appealCharsMax) },
  },
}

export interface NoticePageProps {
  frame: Frame
  /** Newest first. */
  bans: HubBanRow[]
  /** The appeal that was sent and rejected; null otherwise. */
  form: BanAppealFormState | null
}

/** The bans and mutes of the whole hub that hold for the viewer, with appeals: all that a banned account reads. */
export const NoticePage: FC<NoticePageProps> = ({ frame, bans, form }) => (
  <Layout frame={frame} title="Your bans and mutes">
    <h1>Your bans and mutes</h1>
    <p class="lede">
      On the whole hub. You can appeal each once. Another admin than the one who acted decides, if
      there is one.
    </p>
    <ErrorSummary problem={form?.problem ?? null} />
    {bans.length === 0 && <p class="meta">No ban or mute of the whole hub holds for you.</p>}
    <ul class="list tall">
      {bans.map((row) => (
        <li id={`b-${row.id}`} data-row>
          <div>
            <strong>{row.kind === 'ban' ? 'Banned' : 'Muted'}</strong>{' '}
            <RelativeTime at={row.createdAt} now={frame.now} />,{' '}
            {row.endsAt === null ? 'until an admin lifts it' : `until ${formatExact(row.endsAt)}`}
          </div>
          <div>Reason: {row.reason}</div>
          {row.appealedAt === null ? (
            <AppealForm
              action="/moderation/notice"
              target={{ name: 'ban_id', id: row.id }}
              hint="You can send one."
              form={form?.typed.ban_id === row.id ? form : createForm({ ban_id: row.id, text: '' })}
            />
          ) : (
            <AppealState row={row} />
          )}
        </li>
      ))}
    </ul>
    <form class="up5" method="post" action="/logout">
      <button class="btn" type="submit">
        Sign out
      </button>
    </form>
  </Layout>
)

const AppealState: FC<{ row: HubBanRow }> = ({ row }) => (
  <>
    <div>Your appeal: {row.appeal}</div>
    <p class="meta">
      {row.outcome === null
        ? 'Appealed. Waiting for an admin.'
        : `${appealOutcomeLabels[row.outcome]}. Reason: ${row.outcomeReason}`}
    </p>
  </>
)
