import type { FC } from 'hono/jsx'

export interface ToggleFormProps {
  action: string
  isOn: boolean
  /** The labels of the button: what it starts, and what it ends. */
  labels: { start: string; end: string }
}

/** A button that starts or ends something; the form's field `on` is `yes` or `no`. */
export const ToggleForm: FC<ToggleFormProps> = ({ action, isOn, labels }) => (
  <form method="post" action={action}>
    <button type="submit" class="btn" name="on" value={isOn ? 'no' : 'yes'}>
      {isOn ? labels.end : labels.start}
    </button>
  </form>
)
