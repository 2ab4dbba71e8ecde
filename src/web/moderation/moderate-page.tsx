import type { FC } from 'hono/jsx'
import { contentPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { ModerateForm, type ModerateFormProps, type ModerateFormState } from './moderate-form'

export interface ModeratePageProps extends Omit<ModerateFormProps, 'of' | 'isOpen'> {
  frame: Frame
  communityName: string
  form: ModerateFormState
}

/** The form of a moderator that was rejected, with what was typed. */
export const ModeratePage: FC<ModeratePageProps> = ({ frame, communityName, ...props }) => {
  const { postId, commentId, authorName, form } = props
  const noun = commentId === null ? 'post' : 'comment'
  return (
    <Layout frame={frame} title={`Moderate a ${noun}`}>
      <h1>Moderate a {noun}</h1>
      <p class="lede">
        By{' '}
        <a class="ul" href={contentPath(postId, commentId)}>
          {authorName}
        </a>{' '}
        in m/{communityName}.
      </p>
      <ErrorSummary problem={form.problem} />
      <ModerateForm {...props} of={`the ${noun} by ${authorName}`} isOpen />
    </Layout>
  )
}
