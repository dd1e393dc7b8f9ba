"""nbgrader's settings for this course: used to generate exercises/, and by instructors who run nbgrader.

Generate the learners' notebooks with `python -m counterpoint.grading.release`; collect and grade with
`counterpoint grade` or with nbgrader: both give the same points.
"""

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "counterpoint"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError()  # your code here"}
c.IncludeHeaderFooter.header = c.IncludeHeaderFooter.footer = ""
# What a test cell writes to standard error says nothing about the answer.
c.IgnorePattern.enabled = True
c.IgnorePattern.pattern = r"(?s).*"
c.Execute.timeout = 120
c.Execute.interrupt_on_timeout = True
