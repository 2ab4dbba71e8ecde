import { limits } from '../../shared/config'
import { describeText, type FormDefinition, type FormState } from '../form/form-state'

type FirstMessageField = 'to' | 'content'
export type FirstMessageState = FormState<FirstMessageField>
export type MessageState = FormState<'content'>

const rejected = 'The message was not sent.'
const content = { message: describeText('The message', limits.directMessage.contentCharsMax) }

/** The form of a message to an account by name. */
export const firstMessageForm: FormDefinition<FirstMessageField> = {
  rejected,
  fields: {
    to: { parse: (text) => text.trim(), message: 'Enter the name of an account.' },
    content,
  },
}

/** The form of a message in a conversation. */
export const messageForm: FormDefinition<'content'> = { rejected, fields: { content } }
